"""The edges that the arguments of a call request.

Arguments such as `plan_id` and `goal_id` each have a fixed relation (LINK_ARGUMENTS). `parent` and `parents` name
parents of the row; `connections` name any rows to link. Each row is named by its id or title. The most specific allowed
parent becomes the primary parent. A row has one parent unless the call allows several; other named parents are linked
with the default relation of the two kinds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from core.handler_contract import ArgumentError
from workspace import relations
from workspace.entity_types import EntityType
from workspace.models import Edge, EdgeKind, Entity
from workspace.relations import ALLOWED_PARENTS, Rel, Relation
from workspace.services import access
from workspace.services.access import NamedRow
from workspace.services.edges import edges
from workspace.services.search import title_lookup
from workspace.services.search.title_lookup import TitledRow

CONTAINMENT, SEMANTIC = "containment", "semantic"

ALLOW_MULTI_PARENT = "allow_multi_parent"  # the argument that allows several parents
KEEP_ALL_HINT = f" Send {ALLOW_MULTI_PARENT}: true to keep all parents."

# Arguments that name one row: its kind, and the relation to it. None means that it is the parent.
LINK_ARGUMENTS: dict[EdgeKind, dict[str, tuple[EdgeKind, Rel | None]]] = {
    EdgeKind.TASK: {
        "plan_id": (EdgeKind.PLAN, None),
        "goal_id": (EdgeKind.GOAL, Rel.SUPPORTS_GOAL),
        "supporting_milestone_id": (EdgeKind.MILESTONE, Rel.TARGETS_MILESTONE),
    },
    EdgeKind.PLAN: {
        "goal_id": (EdgeKind.GOAL, None),
        "milestone_id": (EdgeKind.MILESTONE, None),
    },
}


@dataclass(frozen=True, slots=True)
class LinkRequest:
    """A requested link: the named row, the relation as seen from the row being linked, and the relation name sent."""

    named: NamedRow
    relation: Relation
    sent_rel: str | None = None
    is_primary: bool = False  # the caller said that this parent is the one
    is_explicit: bool = True  # the caller said what the two are to each other; else their kinds suggested it

    @property
    def has_guessed_order(self) -> bool:
        """Whether the kinds alone decided which row waits for which."""
        return self.sent_rel is None and self.relation.rel is Rel.DEPENDS_ON

    @property
    def is_parent(self) -> bool:
        """Whether the named row becomes the parent."""
        return relations.is_containment(self.relation) and self.relation.swapped


@dataclass(slots=True)
class TitleMatches:
    """The ids of rows named by title, keyed by argument, with errors and warnings."""

    ids: dict[str, str] = field(default_factory=dict)
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ResolvedLinks:
    """The links to make, the primary parent, the errors, and a warning for each link that was changed."""

    links: list[LinkRequest] = field(default_factory=list)
    primary: LinkRequest | None = None
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def resolve_links(sent: Mapping[str, Any], *, kind: EntityType, project_id: UUID, subject: str) -> ResolvedLinks:
    """Return the links that a call requests for a new row of this type, looking up rows named by title.

    Takes one query per kind named by title.
    """
    matches = find_by_title(_iter_items(sent), project_id=project_id, subject=subject)
    if matches.errors:
        return ResolvedLinks(errors=matches.errors)
    resolved = parse_links(sent, kind=kind, ids=matches.ids)
    resolved.warnings += matches.warnings
    return resolved


def find_by_title(items: Iterable[tuple[str, Mapping[str, Any]]], *, project_id: UUID, subject: str) -> TitleMatches:
    """Return the ids of the rows that items name by title. `items` are pairs of path in the args and item.

    Takes one query per kind named by title.
    """
    lookups, matches = [], TitleMatches()
    for argument, item in items:
        if "id" not in item and "title" not in item:
            matches.errors.append(_build_missing_id_error(argument))
        elif "id" not in item:
            lookups.append(TitledRow(item["kind"], item["title"], f"{argument}/title", f"{argument}/id"))
        elif "title" in item:
            matches.warnings.append(f"Ignored {argument}/title: {argument}/id was also sent.")
    for lookup, id in zip(lookups, title_lookup.find_ids(lookups, subject=subject, project_id=project_id), strict=True):
        if isinstance(id, ArgumentError):
            matches.errors.append(id)
        else:
            matches.ids[lookup.argument.removesuffix("/title")] = str(id)
    return matches


def parse_links(sent: Mapping[str, Any], *, kind: EntityType, ids: Mapping[str, str] | None = None) -> ResolvedLinks:
    """Return the links that a call requests for a new row of this type. Pure: runs no query.

    `ids` has the ids of rows named by title, keyed by argument.
    """
    child, resolved = EdgeKind(kind.name), ResolvedLinks()
    for name, (other, rel) in LINK_ARGUMENTS.get(child, {}).items():
        if sent.get(name) is not None:
            intent = SEMANTIC if rel else CONTAINMENT
            _add_link(resolved, child, {"kind": other, "id": sent[name], "intent": intent}, argument=name, rel=rel)
    for argument, item in _iter_items(sent):
        fields = item | {"id": (ids or {}).get(argument) or item["id"]}
        if not argument.startswith("connections"):
            fields["intent"] = CONTAINMENT
        _add_link(resolved, child, fields, argument=argument, rel=item.get("rel"))
    choose_parent(resolved, child, allow_multiple=bool(sent.get(ALLOW_MULTI_PARENT)))
    return resolved


def get_relation_between(
    src_kind: EdgeKind, dst_kind: EdgeKind, *, rel: str | None, intent: str | None
) -> Relation | None:
    """Return the relation between two rows, in either direction.

    The intent "containment" decides first, then the relation name sent, then the kinds. None if containment was
    requested and neither kind can be the parent of the other.
    """
    if intent == CONTAINMENT:
        return relations.find_parent_relation(src_kind, dst_kind)
    if rel is not None:
        return relations.resolve_relation(src_kind, rel, dst_kind)
    relation = None if intent == SEMANTIC else relations.find_parent_relation(src_kind, dst_kind)
    return relation or relations.get_semantic_relation(src_kind, dst_kind)


def build_neither_parent_error(src: EdgeKind, dst: EdgeKind, argument: str) -> ArgumentError:
    """Return the error for the intent "containment" between kinds that cannot be parent and child."""
    parents = {kind: ", ".join(parent.value for parent in ALLOWED_PARENTS[kind]) or "nothing" for kind in (src, dst)}
    message = (
        f"{argument}: neither row can be the parent of the other (parents of a {src.value}: {parents[src]}; "
        f"of a {dst.value}: {parents[dst]}); send intent semantic."
    )
    return ArgumentError(path=f"/{argument}/intent", code="no_parent", message=message, expected="semantic")


def choose_parent(
    resolved: ResolvedLinks, child: EdgeKind, *, allow_multiple: bool, keep_hint: str = KEEP_ALL_HINT
) -> None:
    """Choose the primary parent: the one sent as primary, else the most specific, else the first.

    The other parents get the default relation, unless several parents are allowed. `keep_hint` ends the warning about
    an explicitly requested parent and says how to keep it.
    """
    parents = [link for link in resolved.links if link.is_parent]
    if not parents:
        return
    primary = resolved.primary = min(parents, key=lambda wish: (not wish.is_primary, _get_parent_rank(child, wish)))
    if allow_multiple:
        return
    links = []
    for link in resolved.links:
        if not link.is_parent or link.named.id == primary.named.id:
            links.append(link)
        elif link.named.kind != EdgeKind.PROJECT:  # every row belongs to its project anyway
            links.append(demote_parent(link, child))
            if link.is_explicit:
                resolved.warnings.append(_format_one_parent_warning(child, primary, links[-1]) + keep_hint)
    resolved.links = links


def demote_parent(link: LinkRequest, child: EdgeKind) -> LinkRequest:
    """Return the link with the default relation of the two kinds instead of the parent relation."""
    return LinkRequest(link.named, relations.get_semantic_relation(child, EdgeKind(link.named.kind)))


def build_edges(
    resolved: ResolvedLinks, row: Entity, *, project_id: UUID, subject: str, at: datetime
) -> tuple[list[Edge], tuple[str, ...]]:
    """Return the unsaved edges of a new row, and warnings about guessed relations.

    Raises NotFound, Forbidden for the rows that the call names. All of them must be in the row's project.
    """
    if not resolved.links:
        return [], ()
    other_rows = access.lock_named_rows([link.named for link in resolved.links], subject=subject, project_id=project_id)
    guessed = [(row, other) for link, other in zip(resolved.links, other_rows, strict=True) if link.has_guessed_order]
    return build_row_edges(resolved, row, other_rows, by=subject, at=at), edges.build_guess_warnings(guessed)


def build_row_edges(
    resolved: ResolvedLinks, row: Entity, other_rows: Sequence[Entity], *, by: str, at: datetime
) -> list[Edge]:
    """Return the unsaved edges from a row to the rows of its links. `other_rows` are those rows, in the same order."""
    edges_by_identity: dict[edges.EdgeIdentity, Edge] = {}
    for link, other in zip(resolved.links, other_rows, strict=True):
        edge = edges.build_edge(link.relation, row, other, by=by, at=at, props=_build_props(link, resolved))
        edges_by_identity.setdefault(edges.get_identity(edge), edge)  # rows named twice are linked once
    return list(edges_by_identity.values())


def _build_props(link: LinkRequest, resolved: ResolvedLinks) -> dict[str, Any]:
    """Return the props of a link's edge."""
    props: dict[str, Any] = {edges.IS_PRIMARY: True} if link is resolved.primary else {}
    if link.relation.is_guess and link.sent_rel is not None:
        props[edges.ORIGINAL_REL] = link.sent_rel
    return props


def update_links(
    sent: Mapping[str, Any], row: Any, *, kind: EntityType, subject: str, at: datetime
) -> tuple[list[str], list[Edge]]:
    """Update a stored row's fixed links (LINK_ARGUMENTS) to those sent. Null removes a link.

    Returns the arguments that changed something, and the current edges of the arguments sent. The caller must have
    locked the row. Raises NotFound, Forbidden for the rows that the call names.
    """
    child = EdgeKind(kind.name)
    arguments = {name: argument_link for name, argument_link in LINK_ARGUMENTS.get(child, {}).items() if name in sent}
    references = [
        NamedRow(other, UUID(sent[name]), name) for name, (other, _) in arguments.items() if sent[name] is not None
    ]
    rows = access.lock_named_rows(references, subject=subject, project_id=row.project_id) if references else []
    rows_by_argument = {reference.argument: other for reference, other in zip(references, rows, strict=True)}
    changed_arguments, current_edges = [], []
    for name, (other, rel) in arguments.items():
        is_change, edge = _replace_link(
            row, _get_relation(child, other, rel), rows_by_argument.get(name), subject=subject, at=at
        )
        changed_arguments += [name] if is_change else []
        current_edges += [edge] if edge else []
    return changed_arguments, current_edges


def serialize_edges(new_edges: Sequence[Edge], row: Entity) -> dict[str, Any]:
    """Return {"edges": […]} of a row that was written, or an empty dict without edges.

    Each has its id, its relation and the row at its other end.
    """
    return {"edges": [edges.serialize_link(edge, row.pk) for edge in new_edges]} if new_edges else {}


def _replace_link(
    row: Any, relation: Relation, other: Entity | None, *, subject: str, at: datetime
) -> tuple[bool, Edge | None]:
    """Keep one edge of the relation, to the other row, or none. Return whether that was a change, and the edge."""
    existing = _filter_links(row, relation)
    if other is None:
        return bool(edges.delete_edges(existing, at=at)), None
    far_column = "src_id" if relation.swapped else "dst_id"
    deleted_count = edges.delete_edges(existing.exclude(**{far_column: other.pk}), at=at)
    props = {edges.IS_PRIMARY: True} if relations.is_containment(relation) else {}
    edge, is_new = edges.link_edge(edges.build_edge(relation, row, other, by=subject, at=at, props=props))
    return bool(deleted_count) or is_new, edge


def _filter_links(row: Any, relation: Relation) -> QuerySet[Edge]:
    near, far_kind = ("dst_id", "src_kind") if relation.swapped else ("src_id", "dst_kind")
    kind = relation.src_kind if relation.swapped else relation.dst_kind
    return Edge.objects.filter(deleted_at=None, rel=relation.rel, **{near: row.pk, far_kind: kind})


def _iter_items(sent: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (path in the args, item) for each item of `parent`, `parents` and `connections`."""
    if sent.get("parent"):
        yield "parent", sent["parent"]
    for name in ("parents", "connections"):
        for index, item in enumerate(sent.get(name) or []):
            yield f"{name}/{index}", item


def _build_missing_id_error(argument: str) -> ArgumentError:
    message = f"{argument}/id is required: uuid. If you do not know it, send the row's title as {argument}/title."
    return ArgumentError(path=f"/{argument}/id", code="required", message=message, expected="uuid, required")


def _add_link(
    resolved: ResolvedLinks, child: EdgeKind, sent: dict[str, Any], *, argument: str, rel: str | None = None
) -> None:
    other, intent = EdgeKind(sent["kind"]), sent.get("intent")
    if intent == CONTAINMENT and other not in ALLOWED_PARENTS[child]:
        resolved.errors.append(_build_parent_error(child, argument))
        return
    named = NamedRow(other, UUID(sent["id"]), argument if argument.endswith("_id") else f"{argument}/id")
    relation = relations.get_parent_relation(child, other) if intent == CONTAINMENT else None
    relation = relation or _get_relation(child, other, rel, is_semantic=intent == SEMANTIC)
    resolved.links.append(LinkRequest(named, relation, sent_rel=rel, is_primary=bool(sent.get("is_primary"))))
    if rel is not None and argument.startswith("connections"):
        resolved.warnings += edges.build_rename_warnings(rel, relation, argument=f"{argument}/rel")


def _get_relation(child: EdgeKind, other: EdgeKind, rel: str | None, *, is_semantic: bool = False) -> Relation:
    """Return the relation to another row: the one named, else the parent relation, else the default of the kinds."""
    if rel is not None:
        return relations.resolve_relation(child, rel, other)
    return (None if is_semantic else relations.get_parent_relation(child, other)) or relations.get_semantic_relation(
        child, other
    )


def _build_parent_error(child: EdgeKind, argument: str) -> ArgumentError:
    allowed = [parent.value for parent in ALLOWED_PARENTS[child]]
    message = f"{argument} has a kind that cannot be the parent of a {child.value}; " + (
        f"send one of {', '.join(allowed)}." if allowed else "leave it out."
    )
    return ArgumentError(path=f"/{argument}/kind", code="enum", message=message, expected="|".join(allowed) or None)


def _get_parent_rank(child: EdgeKind, link: LinkRequest) -> int:
    return ALLOWED_PARENTS[child].index(EdgeKind(link.named.kind))


def _format_one_parent_warning(child: EdgeKind, primary: LinkRequest, other: LinkRequest) -> str:
    return (
        f"A {child.value} has one parent, here {primary.named.argument}; stored {other.named.argument} as "
        f"{other.relation.sentence}."
    )
