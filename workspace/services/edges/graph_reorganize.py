"""Reorganize the edges of a project's graph: parse the request, plan the changes, apply them.

Parsing and planning are pure. All named rows are locked while a plan is made, so that nobody links them concurrently.
A plan is stale if one of its edges has been deleted since, or if its hash differs from the one that the caller saw in
a dry run.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db.models import Q

from core.handler_contract import ArgumentError, StateConflict
from core.text import json_text
from workspace import relations
from workspace.models import Edge, EdgeKind, Entity
from workspace.relations import ALLOWED_PARENTS, PARENT_RELATIONS, Rel
from workspace.services.access import NamedRow
from workspace.services.edges import edge_arguments, edges
from workspace.services.edges.edge_arguments import LinkRequest, ResolvedLinks, TitleMatches
from workspace.services.edges.edges import EdgeIdentity

# Relations that are chosen by default when the caller names none. New links may replace them.
DEFAULT_RELATIONS = (Rel.SUPPORTS_GOAL, Rel.TARGETS_MILESTONE, Rel.REFERENCES, Rel.DEPENDS_ON)


class ParentMode(StrEnum):
    """What happens to the current parents of a node."""

    REPLACE = "replace"  # parents that are not sent are removed
    MERGE = "merge"  # all are kept


class SemanticMode(StrEnum):
    """What happens to the current links of a node other than parents."""

    REPLACE_AUTO = "replace_auto"  # default relations that are not sent are removed
    MERGE = "merge"  # all are kept, and those sent are added
    PRESERVE = "preserve"  # all are kept, and none are added


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A row to reorganize, and how. A row that is not listed in `nodes` only gains a parent if it has none."""

    kind: EdgeKind
    argument: str
    is_listed: bool = False
    mode: ParentMode = ParentMode.MERGE
    semantic_mode: SemanticMode | None = None  # None: REPLACE_AUTO if links were sent, else PRESERVE
    may_lie_in_project: bool = True
    allow_multiple: bool = False
    links: list[LinkRequest] = field(default_factory=list)


@dataclass(slots=True)
class GraphRequest:
    """The parsed request: nodes by row id, all named rows, errors and warnings."""

    nodes: dict[UUID, GraphNode] = field(default_factory=dict)
    named: list[NamedRow] = field(default_factory=list)
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class GraphPlan:
    """The edges to create, delete and update, with errors and warnings."""

    created: list[Edge] = field(default_factory=list)
    deleted: list[Edge] = field(default_factory=list)
    updated: list[Edge] = field(default_factory=list)
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def hash(self) -> str:
        """A hash of the changes: equal for plans that make the same changes."""
        created = sorted(
            [*map(str, edges.get_identity(edge)), json_text.canonicalize(edge.props).decode()] for edge in self.created
        )
        deleted = sorted(str(edge.pk) for edge in self.deleted)
        updated = sorted([str(edge.pk), json_text.canonicalize(edge.props).decode()] for edge in self.updated)
        return hashlib.sha256(json_text.canonicalize([created, deleted, updated])).hexdigest()[:16]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to change."""
        return not (self.created or self.deleted or self.updated)


def iter_connections(sent: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (path in the args, connection) for each connection of all nodes."""
    for index, node in enumerate(sent):
        for position, connection in enumerate(node["connections"]):
            yield f"nodes/{index}/connections/{position}", connection


def parse_request(
    sent: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    *,
    project_id: UUID,
    matches: TitleMatches | None = None,
) -> GraphRequest:
    """Parse a call's request. Pure: runs no query. `matches` has the rows named by title, already looked up."""
    ids, request = matches.ids if matches else {}, GraphRequest(warnings=list(matches.warnings) if matches else [])
    for index, node in enumerate(sent):
        id, kind, argument = UUID(node["id"]), EdgeKind(node["kind"]), f"nodes/{index}"
        if id in request.nodes:
            message = f"{argument}/id repeats the id of an earlier node; list each row once, with all its connections."
            request.errors.append(ArgumentError(f"/{argument}/id", "duplicate", message))
            continue
        request.nodes[id] = _build_node(kind, argument, dict(options) | dict(node))
        request.named.append(NamedRow(kind, id, f"{argument}/id"))
    node_ids = [UUID(node["id"]) for node in sent for _ in node["connections"]]
    for id, (argument, connection) in zip(node_ids, iter_connections(sent), strict=True):
        fields = {**connection, "id": ids.get(argument) or connection["id"]}
        _add_connection(request, id, fields, argument, project_id=project_id)
    return request


def list_visible_edges(ids: Iterable[UUID], *, subject: str) -> list[Edge]:
    """Return the edges of the rows that the subject can see. The caller must have locked the rows."""
    ids = list(ids)
    return list(
        edges.filter_visible(subject).filter(Q(src_id__in=ids) | Q(dst_id__in=ids)).order_by("created_at", "pk")
    )


def plan_changes(
    request: GraphRequest, rows: Mapping[UUID, Entity], current_edges: Iterable[Edge], *, by: str, at: datetime
) -> GraphPlan:
    """Return the changes that turn `current_edges` into the requested ones. Pure."""
    result = GraphPlan(warnings=list(request.warnings))
    by_ends = {edges.get_identity(edge): edge for edge in current_edges}
    requested_edges: dict[EdgeIdentity, Edge] = {}
    removed: list[Edge] = []
    guessed: list[tuple[Entity, Entity]] = []
    for id, node in request.nodes.items():
        parent_edges = [
            edge for edge in by_ends.values() if edge.dst_id == id and edge.rel == PARENT_RELATIONS.get(node.kind)
        ]
        resolved = _resolve_node(node, parent_edges)
        kept = _get_kept_edges(node, parent_edges, resolved)
        removed += [edge for edge in parent_edges if edge not in kept]
        removed += [edge for edge in by_ends.values() if _is_replaced(edge, id, node)]
        other_rows = [rows[link.named.id] for link in resolved.links]
        requested_edges |= {
            edges.get_identity(edge): edge
            for edge in edge_arguments.build_row_edges(resolved, rows[id], other_rows, by=by, at=at)
        }
        guessed += [(rows[id], rows[link.named.id]) for link in resolved.links if link.has_guessed_order]
        result.updated += _update_primary_marks(resolved, kept)
        result.warnings += resolved.warnings
        result.errors += [] if kept or resolved.primary or node.may_lie_in_project else [_build_no_parent_error(node)]
    result.warnings += edges.build_guess_warnings(guessed)
    result.created = [edge for identity, edge in requested_edges.items() if identity not in by_ends]
    result.deleted = [edge for edge in removed if edges.get_identity(edge) not in requested_edges]
    return result


def apply_plan(plan: GraphPlan, *, at: datetime) -> None:
    """Apply a plan. Raises StateConflict if one of its edges has been deleted since it was read."""
    deleted, updated = [edge.pk for edge in plan.deleted], [edge.pk for edge in plan.updated]
    queryset = Edge.objects.filter(pk__in=[*deleted, *updated], deleted_at=None).order_by("pk")
    if len(queryset.select_for_update(no_key=True).values_list("pk")) != len(deleted) + len(updated):
        raise build_stale_plan_error()
    edges.delete_edges(Edge.objects.filter(pk__in=deleted), at=at)
    Edge.objects.bulk_update(plan.updated, ["props"])
    Edge.objects.bulk_create(plan.created)


def build_stale_plan_error() -> StateConflict:
    """Return the error for a plan that differs from the one that the caller saw."""
    message = (
        "The edges have changed since this was planned; read them with onto.project.graph.get and repeat the dry run "
        "for the current plan."
    )
    return StateConflict(message, reason="stale_plan")


def _build_node(kind: EdgeKind, argument: str, fields: Mapping[str, Any]) -> GraphNode:
    semantic = fields.get("semantic_mode")
    return GraphNode(
        kind=kind,
        argument=argument,
        is_listed=True,
        mode=ParentMode(fields.get("mode", ParentMode.REPLACE)),
        semantic_mode=SemanticMode(semantic) if semantic else None,
        may_lie_in_project=fields.get("allow_project_fallback", True),
        allow_multiple=fields.get(edge_arguments.ALLOW_MULTI_PARENT, False),
    )


def _add_connection(
    request: GraphRequest, id: UUID, sent: Mapping[str, Any], argument: str, *, project_id: UUID
) -> None:
    """Add a connection as a link of the child row if it is a parent relation, else of the node's row."""
    node, other, other_id = request.nodes[id], EdgeKind(sent["kind"]), UUID(sent["id"])
    rel, intent = sent.get("rel"), sent.get("intent")
    relation = edge_arguments.get_relation_between(node.kind, other, rel=rel, intent=intent)
    if relation is None:
        request.errors.append(edge_arguments.build_neither_parent_error(node.kind, other, argument))
    elif error := _check_other_end(id, other, other_id, argument, project_id):
        request.errors.append(error)
    else:
        request.named.append(NamedRow(other, other_id, f"{argument}/id"))
        if rel is not None:
            request.warnings += edges.build_rename_warnings(rel, relation, argument=f"{argument}/rel")
        child, named = node, request.named[-1]
        if relations.is_containment(relation) and not relation.swapped:  # the node's row becomes the parent
            child = request.nodes.setdefault(other_id, GraphNode(other, argument, allow_multiple=node.allow_multiple))
            named, relation = NamedRow(node.kind, id, f"{argument}/id"), relations.view_from_other_end(relation)
        child.links.append(LinkRequest(named, relation, sent_rel=rel, is_explicit=bool(rel or intent)))


def _check_other_end(
    id: UUID, other: EdgeKind, other_id: UUID, argument: str, project_id: UUID
) -> ArgumentError | None:
    if other is EdgeKind.PROJECT and other_id != project_id:
        message = f"{argument}/id is a different project; send project_id, or leave the connection out."
        return ArgumentError(f"/{argument}/id", "other_project", message)
    if other_id == id:
        message = f"{argument}/id is the id of its own node; send the id of another row."
        return ArgumentError(f"/{argument}/id", "self_edge", message)
    return None


def _resolve_node(node: GraphNode, parent_edges: Sequence[Edge]) -> ResolvedLinks:
    """Return the links to make for a node, given its current `parent_edges`."""
    resolved = ResolvedLinks(links=list(node.links))
    edge_arguments.choose_parent(resolved, node.kind, allow_multiple=node.allow_multiple)
    if node.mode is ParentMode.MERGE:
        _keep_current_parent(resolved, node, parent_edges)
    if node.semantic_mode is SemanticMode.PRESERVE and (
        skipped := [link for link in resolved.links if not link.is_parent]
    ):
        resolved.links = [link for link in resolved.links if link.is_parent]
        resolved.warnings.append(f"Left out {skipped[0].named.argument}: semantic_mode preserve adds no links.")
    return resolved


def _keep_current_parent(resolved: ResolvedLinks, node: GraphNode, parent_edges: Sequence[Edge]) -> None:
    """Keep the current parent instead of new ones, unless several are allowed. The current primary stays primary."""
    parents = [
        edge for edge in parent_edges if edge.src_kind != EdgeKind.PROJECT
    ]  # every row belongs to its project anyway
    if any(edge.props.get(edges.IS_PRIMARY) for edge in parents):
        resolved.primary = None  # even if the call names a current parent again
    new_parents = [
        link
        for link in resolved.links
        if link.is_parent and link.named.id not in {edge.src_id for edge in parent_edges}
    ]
    if node.allow_multiple or not parents:
        return
    keep_hint = "Send mode replace to move it" if node.is_listed else "List it among nodes to move it"
    for link in new_parents:
        resolved.links.remove(link)
        resolved.primary = None if link is resolved.primary else resolved.primary
        if link.named.kind != EdgeKind.PROJECT:
            other = edge_arguments.demote_parent(link, node.kind)
            resolved.links.append(other)
            sentence = other.relation.sentence
            message = f"The {node.kind.value} already has a parent; stored {link.named.argument} as {sentence}."
            resolved.warnings.append(
                f"{message} {keep_hint}, or {edge_arguments.ALLOW_MULTI_PARENT}: true to keep both."
            )


def _get_kept_edges(node: GraphNode, parent_edges: Sequence[Edge], resolved: ResolvedLinks) -> list[Edge]:
    """Return the parent edges that the row keeps."""
    if node.mode is ParentMode.MERGE:
        return list(parent_edges)
    parent_ids = {link.named.id for link in resolved.links if link.is_parent}
    if not parent_ids and node.may_lie_in_project:
        return [edge for edge in parent_edges if edge.src_kind == EdgeKind.PROJECT]
    return [edge for edge in parent_edges if edge.src_id in parent_ids]


def _is_replaced(edge: Edge, id: UUID, node: GraphNode) -> bool:
    """Whether the node's new links replace this edge, because it has a default relation.

    A link belongs to its source. A document's reference belongs to the other row, because documents are never nodes.
    """
    has_links = any(not link.is_parent for link in node.links)
    mode = node.semantic_mode or (SemanticMode.REPLACE_AUTO if has_links else SemanticMode.PRESERVE)
    if not node.is_listed or mode is not SemanticMode.REPLACE_AUTO or edge.rel not in DEFAULT_RELATIONS:
        return False
    of_document = edge.src_kind == EdgeKind.DOCUMENT and edge.rel == Rel.REFERENCES
    return edge.src_id == id or (edge.dst_id == id and of_document)


def _update_primary_marks(resolved: ResolvedLinks, kept_edges: Iterable[Edge]) -> list[Edge]:
    """Return the kept edges whose primary mark must change, so that one parent is primary."""
    if resolved.primary is None:
        return []
    changed = []
    for edge in kept_edges:
        is_primary = edge.src_id == resolved.primary.named.id
        if bool(edge.props.get(edges.IS_PRIMARY)) is not is_primary:
            marked = copy(edge)
            marked.props = {name: value for name, value in edge.props.items() if name != edges.IS_PRIMARY}
            marked.props |= {edges.IS_PRIMARY: True} if is_primary else {}
            changed.append(marked)
    return changed


def _build_no_parent_error(node: GraphNode) -> ArgumentError:
    allowed = ", ".join(kind.value for kind in ALLOWED_PARENTS[node.kind])
    message = (
        f"{node.argument} would have no parent; name one ({allowed}) in its connections, or leave "
        "allow_project_fallback out."
    )
    return ArgumentError(f"/{node.argument}", "no_parent", message)
