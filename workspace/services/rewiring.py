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

from core import canonical
from workspace import relations
from workspace.errors import Conflict, FieldError
from workspace.models import Edge, EdgeKind, Entity
from workspace.relations import HOLDS, PARENTS, Rel
from workspace.services import edges, placement
from workspace.services.access import Named
from workspace.services.edges import Ends
from workspace.services.placement import ByTitle, Placement, Wish

# Relations that are chosen by default when the caller names none. New links may replace them.
SUGGESTED = (Rel.SUPPORTS_GOAL, Rel.TARGETS_MILESTONE, Rel.REFERENCES, Rel.DEPENDS_ON)


class Mode(StrEnum):
    """What happens to the current parents of a node."""

    REPLACE = "replace"  # parents that are not sent are removed
    MERGE = "merge"  # all are kept


class SemanticMode(StrEnum):
    """What happens to the current links of a node other than parents."""

    REPLACE_AUTO = "replace_auto"  # default relations that are not sent are removed
    MERGE = "merge"  # all are kept, and those sent are added
    PRESERVE = "preserve"  # all are kept, and none are added


@dataclass(frozen=True, slots=True)
class Node:
    """A row to reorganize, and how. A row that is not listed in `nodes` only gains a parent if it has none."""

    kind: EdgeKind
    argument: str
    is_listed: bool = False
    mode: Mode = Mode.MERGE
    semantic_mode: SemanticMode | None = None  # None: REPLACE_AUTO if links were sent, else PRESERVE
    may_lie_in_project: bool = True
    several: bool = False
    wishes: list[Wish] = field(default_factory=list)


@dataclass(slots=True)
class Asked:
    """The parsed request: nodes by row id, all named rows, errors and warnings."""

    nodes: dict[UUID, Node] = field(default_factory=dict)
    named: list[Named] = field(default_factory=list)
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """The edges to create, delete and update, with errors and warnings."""

    created: list[Edge] = field(default_factory=list)
    deleted: list[Edge] = field(default_factory=list)
    updated: list[Edge] = field(default_factory=list)
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def hash(self) -> str:
        """A hash of the changes: equal for plans that make the same changes."""
        created = sorted([*map(str, edges.ends(edge)), canonical.dumps(edge.props).decode()] for edge in self.created)
        deleted = sorted(str(edge.pk) for edge in self.deleted)
        updated = sorted([str(edge.pk), canonical.dumps(edge.props).decode()] for edge in self.updated)
        return hashlib.sha256(canonical.dumps([created, deleted, updated])).hexdigest()[:16]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to change."""
        return not (self.created or self.deleted or self.updated)


def connections(sent: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (path in the args, connection) for each connection of all nodes."""
    for index, node in enumerate(sent):
        for number, connection in enumerate(node["connections"]):
            yield f"nodes/{index}/connections/{number}", connection


def read(
    sent: Sequence[Mapping[str, Any]], options: Mapping[str, Any], *, project_id: UUID, named: ByTitle | None = None
) -> Asked:
    """Parse a call's request. Pure: runs no query. `matches` has the rows named by title, already looked up."""
    ids, asked = named.ids if named else {}, Asked(warnings=list(named.warnings) if named else [])
    for index, each in enumerate(sent):
        id, kind, argument = UUID(each["id"]), EdgeKind(each["kind"]), f"nodes/{index}"
        if id in asked.nodes:
            message = f"{argument}/id repeats the id of an earlier node; list each row once, with all its connections."
            asked.errors.append(FieldError(f"/{argument}/id", "duplicate", message))
            continue
        asked.nodes[id] = _node(kind, argument, dict(options) | dict(each))
        asked.named.append(Named(kind, id, f"{argument}/id"))
    nodes = [UUID(each["id"]) for each in sent for _ in each["connections"]]
    for id, (argument, connection) in zip(nodes, connections(sent), strict=True):
        given = {**connection, "id": ids.get(argument) or connection["id"]}
        _connect(asked, id, given, argument, project_id=project_id)
    return asked


def around(ids: Iterable[UUID], *, subject: str) -> list[Edge]:
    """Return the edges of the rows that the subject can see. The caller must have locked the rows."""
    ids = list(ids)
    return list(edges.visible(subject).filter(Q(src_id__in=ids) | Q(dst_id__in=ids)).order_by("created_at", "pk"))


def plan(asked: Asked, rows: Mapping[UUID, Entity], there: Iterable[Edge], *, by: str, at: datetime) -> Plan:
    """Return the changes that turn `current_edges` into the requested ones. Pure."""
    found = Plan(warnings=list(asked.warnings))
    by_ends = {edges.ends(edge): edge for edge in there}
    wanted: dict[Ends, Edge] = {}
    let_go: list[Edge] = []
    for id, node in asked.nodes.items():
        held = [edge for edge in by_ends.values() if edge.dst_id == id and edge.rel == HOLDS.get(node.kind)]
        place = _placed(node, held)
        kept = _kept(node, held, place)
        let_go += [edge for edge in held if edge not in kept]
        let_go += [edge for edge in by_ends.values() if _gives_way(edge, id, node)]
        others = [rows[wish.named.id] for wish in place.wishes]
        wanted |= {edges.ends(edge): edge for edge in placement.edges_of(place, rows[id], others, by=by, at=at)}
        found.updated += _primaries(place, kept)
        found.warnings += place.warnings
        found.errors += [] if kept or place.primary or node.may_lie_in_project else [_without_parent(node)]
    found.created = [edge for ends, edge in wanted.items() if ends not in by_ends]
    found.deleted = [edge for edge in let_go if edges.ends(edge) not in wanted]
    return found


def apply(plan: Plan, *, at: datetime) -> None:
    """Apply a plan. Raises StateConflict if one of its edges has been deleted since it was read."""
    deleted, updated = [edge.pk for edge in plan.deleted], [edge.pk for edge in plan.updated]
    there = Edge.objects.filter(pk__in=[*deleted, *updated], deleted_at=None).order_by("pk")
    if len(there.select_for_update(no_key=True).values_list("pk")) != len(deleted) + len(updated):
        raise stale()
    edges.unlink(Edge.objects.filter(pk__in=deleted), at=at)
    Edge.objects.bulk_update(plan.updated, ["props"])
    Edge.objects.bulk_create(plan.created)


def stale() -> Conflict:
    """Return the error for a plan that differs from the one that the caller saw."""
    message = (
        "The edges have changed since this was planned; read them with onto.project.graph.get and repeat the dry run "
        "for the current plan."
    )
    return Conflict(message, reason="stale_plan")


def _node(kind: EdgeKind, argument: str, given: Mapping[str, Any]) -> Node:
    semantic = given.get("semantic_mode")
    return Node(
        kind=kind,
        argument=argument,
        is_listed=True,
        mode=Mode(given.get("mode", Mode.REPLACE)),
        semantic_mode=SemanticMode(semantic) if semantic else None,
        may_lie_in_project=given.get("allow_project_fallback", True),
        several=given.get(placement.SEVERAL, False),
    )


def _connect(asked: Asked, id: UUID, sent: Mapping[str, Any], argument: str, *, project_id: UUID) -> None:
    """Add a connection as a link of the child row if it is a parent relation, else of the node's row."""
    node, other, other_id = asked.nodes[id], EdgeKind(sent["kind"]), UUID(sent["id"])
    rel, intent = sent.get("rel"), sent.get("intent")
    relation = placement.joined(node.kind, other, rel=rel, intent=intent)
    if relation is None:
        asked.errors.append(placement.neither_holds(node.kind, other, argument))
    elif error := _wrong_end(id, other, other_id, argument, project_id):
        asked.errors.append(error)
    else:
        asked.named.append(Named(other, other_id, f"{argument}/id"))
        if rel is not None:
            asked.warnings += edges.renamed(rel, relation, argument=f"{argument}/rel")
        child, named = node, asked.named[-1]
        if relations.is_containment(relation) and not relation.swapped:  # the node's row becomes the parent
            child = asked.nodes.setdefault(other_id, Node(other, argument, several=node.several))
            named, relation = Named(node.kind, id, f"{argument}/id"), relations.from_other_end(relation)
        child.wishes.append(Wish(named, relation, sent_rel=rel, is_explicit=bool(rel or intent)))


def _wrong_end(id: UUID, other: EdgeKind, other_id: UUID, argument: str, project_id: UUID) -> FieldError | None:
    if other is EdgeKind.PROJECT and other_id != project_id:
        message = f"{argument}/id is a different project; send project_id, or leave the connection out."
        return FieldError(f"/{argument}/id", "other_project", message)
    if other_id == id:
        message = f"{argument}/id is the id of its own node; send the id of another row."
        return FieldError(f"/{argument}/id", "self_edge", message)
    return None


def _placed(node: Node, held: Sequence[Edge]) -> Placement:
    """Return the links to make for a node, given its current `parent_edges`."""
    place = Placement(wishes=list(node.wishes))
    placement.settle(place, node.kind, several=node.several)
    if node.mode is Mode.MERGE:
        _beside(place, node, held)
    if node.semantic_mode is SemanticMode.PRESERVE and (left := [wish for wish in place.wishes if not wish.is_parent]):
        place.wishes = [wish for wish in place.wishes if wish.is_parent]
        place.warnings.append(f"Left out {left[0].named.argument}: semantic_mode preserve adds no links.")
    return place


def _beside(place: Placement, node: Node, held: Sequence[Edge]) -> None:
    """Keep the current parent instead of new ones, unless several are allowed. The current primary stays primary."""
    parents = [edge for edge in held if edge.src_kind != EdgeKind.PROJECT]  # every row belongs to its project anyway
    if any(edge.props.get(edges.PRIMARY) for edge in parents):
        place.primary = None  # even if the call names a current parent again
    new = [wish for wish in place.wishes if wish.is_parent and wish.named.id not in {edge.src_id for edge in held}]
    if node.several or not parents:
        return
    mend = "Send mode replace to move it" if node.is_listed else "List it among nodes to move it"
    for wish in new:
        place.wishes.remove(wish)
        place.primary = None if wish is place.primary else place.primary
        if wish.named.kind != EdgeKind.PROJECT:
            other = placement.demoted(wish, node.kind)
            place.wishes.append(other)
            told = f"The {node.kind.value} already has a parent; stored {wish.named.argument} as {other.relation.told}."
            place.warnings.append(f"{told} {mend}, or {placement.SEVERAL}: true to keep both.")


def _kept(node: Node, held: Sequence[Edge], place: Placement) -> list[Edge]:
    """Return the parent edges that the row keeps."""
    if node.mode is Mode.MERGE:
        return list(held)
    wanted = {wish.named.id for wish in place.wishes if wish.is_parent}
    if not wanted and node.may_lie_in_project:
        return [edge for edge in held if edge.src_kind == EdgeKind.PROJECT]
    return [edge for edge in held if edge.src_id in wanted]


def _gives_way(edge: Edge, id: UUID, node: Node) -> bool:
    """Whether the node's new links replace this edge, because it has a default relation.

    A link belongs to its source. A document's reference belongs to the other row, because documents are never nodes.
    """
    linked = any(not wish.is_parent for wish in node.wishes)
    mode = node.semantic_mode or (SemanticMode.REPLACE_AUTO if linked else SemanticMode.PRESERVE)
    if not node.is_listed or mode is not SemanticMode.REPLACE_AUTO or edge.rel not in SUGGESTED:
        return False
    of_document = edge.src_kind == EdgeKind.DOCUMENT and edge.rel == Rel.REFERENCES
    return edge.src_id == id or (edge.dst_id == id and of_document)


def _primaries(place: Placement, kept: Iterable[Edge]) -> list[Edge]:
    """Return the kept edges whose primary mark must change, so that one parent is primary."""
    if place.primary is None:
        return []
    changed = []
    for edge in kept:
        is_primary = edge.src_id == place.primary.named.id
        if bool(edge.props.get(edges.PRIMARY)) is not is_primary:
            marked = copy(edge)
            marked.props = {name: value for name, value in edge.props.items() if name != edges.PRIMARY}
            marked.props |= {edges.PRIMARY: True} if is_primary else {}
            changed.append(marked)
    return changed


def _without_parent(node: Node) -> FieldError:
    allowed = ", ".join(kind.value for kind in PARENTS[node.kind])
    message = (
        f"{node.argument} would have no parent; name one ({allowed}) in its connections, or leave "
        "allow_project_fallback out."
    )
    return FieldError(f"/{node.argument}", "no_parent", message)
