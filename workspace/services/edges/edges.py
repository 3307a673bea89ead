"""Create, delete and query edges.

An edge is visible only if the rows at both ends are. Edges of a deleted row stay in the database and become visible
again when the row is restored.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from core.handler_contract import NotFound
from workspace.entity_types import ENTITY_TYPE_BY_NAME
from workspace.models import Edge, EdgeKind, Entity, Project
from workspace.relations import Rel, Relation
from workspace.services.entities.serialization import quote_name
from workspace.services.time import times

ORIGINAL_REL = "original_rel"  # the prop with the relation name that was sent but does not exist
_WAITING = (Rel.DEPENDS_ON, Rel.BLOCKS)  # one end waits for the other
MAX_NAMED = 5  # pairs of rows that a warning names
IS_PRIMARY = "is_primary"  # the prop that marks the primary parent

EdgeIdentity = tuple[UUID, str, UUID]  # source, relation, destination; unique among living edges

OUTGOING, INCOMING = "outgoing", "incoming"  # as seen from one end


def build_edge(
    relation: Relation, src: Entity, dst: Entity, *, by: str, at: datetime, props: Mapping[str, Any] | None = None
) -> Edge:
    """Return an unsaved edge. `src` and `dst` are in the order sent; the relation says whether to swap them."""
    source, destination = (dst, src) if relation.swapped else (src, dst)
    return Edge(
        project_id=get_project_id(source),
        src_kind=relation.src_kind,
        src_id=source.pk,
        rel=relation.rel,
        dst_kind=relation.dst_kind,
        dst_id=destination.pk,
        props=dict(props or {}),
        created_by=by,
        created_at=at,
    )


def get_identity(edge: Edge) -> EdgeIdentity:
    """Return the identity of an edge: source, relation and destination."""
    return edge.src_id, edge.rel, edge.dst_id


def link_edge(edge: Edge) -> tuple[Edge, bool]:
    """Save the edge unless an identical one exists. Return the stored edge and whether it is new.

    The caller must hold the row locks of `workspace.services.access`, so that nobody links the same rows
    concurrently.
    """
    existing = _filter_alive().filter(src_id=edge.src_id, rel=edge.rel, dst_id=edge.dst_id).first()
    if existing is not None:
        return existing, False
    edge.save(force_insert=True)
    return edge, True


def has_circle(edge: Edge, *, subject: str) -> bool:
    """Return whether the rows that an edge puts in an order now wait for each other, as the subject sees it."""
    if edge.rel not in _WAITING:
        return False
    rows = filter_visible(subject).filter(project=edge.project_id, rel__in=_WAITING)
    waits_for: defaultdict[UUID, list[UUID]] = defaultdict(list)
    for rel, src, dst in rows.values_list("rel", "src_id", "dst_id"):
        waiting, awaited = (src, dst) if rel == Rel.DEPENDS_ON else (dst, src)
        waits_for[waiting].append(awaited)
    seen, open_ids = set[UUID](), list(waits_for[edge.src_id])
    while open_ids:
        id = open_ids.pop()
        if id == edge.src_id:
            return True
        if id not in seen:
            seen.add(id)
            open_ids += waits_for[id]
    return False


def delete_edges(queryset: QuerySet[Edge], *, at: datetime) -> int:
    """Mark edges as deleted and return their number."""
    return queryset.filter(deleted_at=None).update(deleted_at=at)


def filter_visible(subject: str) -> QuerySet[Edge]:
    """Return the edges whose rows at both ends the subject can see."""
    return _filter_alive().filter(_filter_visible_end("src", subject), _filter_visible_end("dst", subject))


def list_edges(id: UUID, direction: str, *, subject: str) -> QuerySet[Edge]:
    """Return the outgoing or incoming edges of a row whose other end the subject can see, oldest first.

    The caller must check that the subject can see the row itself.
    """
    near_end, far_end = ("src", "dst") if direction == OUTGOING else ("dst", "src")
    queryset = _filter_alive().filter(_filter_visible_end(far_end, subject), **{f"{near_end}_id": id})
    return queryset.order_by("created_at", "id")


def serialize_edge(edge: Edge) -> dict[str, Any]:
    """Return an edge as JSON values."""
    return {
        "id": str(edge.pk),
        "src_kind": str(edge.src_kind),
        "src_id": str(edge.src_id),
        "rel": str(edge.rel),
        "dst_kind": str(edge.dst_kind),
        "dst_id": str(edge.dst_id),
        "props": edge.props,
        "created_at": times.format_time(edge.created_at),
    }


def serialize_link(edge: Edge, id: UUID) -> dict[str, Any]:
    """Return an edge as seen from the row with this id: its own id, its relation, and the row at the other end."""
    other = "src" if edge.dst_id == id else "dst"
    shown = ("id", f"{other}_kind", f"{other}_id", "rel", "props")
    return {name: value for name, value in serialize_edge(edge).items() if name in shown and value}


def build_not_found() -> NotFound:
    """Return the error for an unknown edge id. The message is the same if it is hidden, deleted or never existed."""
    return NotFound(
        "No edge that you can see has this edge_id; find its id with onto.entity.relationships.get "
        "or onto.entity.links.get."
    )


def build_rename_warnings(
    sent: str, relation: Relation, *, argument: str = "rel", is_new: bool = True
) -> tuple[str, ...]:
    """Return a warning if the relation is stored, or was found, under another name or direction than the one sent."""
    if relation.is_guess:
        outcome = (
            f"stored as {relation.sentence}, with the original in {ORIGINAL_REL}"
            if is_new
            else f"read as {relation.sentence}"
        )
        warning = f"{argument} is not a relation between these kinds; {outcome}."
    elif sent != relation.rel:
        warning = f"Read {argument} as {relation.sentence}."
    elif relation.swapped:
        warning = f"Swapped the ends: {relation.rel} goes from {relation.src_kind} to {relation.dst_kind}."
    else:
        return ()
    return (warning,)


def build_guess_warnings(pairs: Sequence[tuple[Entity, Entity]]) -> tuple[str, ...]:
    """Return a warning for rows that were named together without a relation, and now wait for each other.

    Which of two tasks waits is only a guess, so the warning names both rows of each pair.
    """
    if not pairs:
        return ()
    sentences = [f"{quote_name(str(src))} {Rel.DEPENDS_ON} {quote_name(str(dst))}" for src, dst in pairs[:MAX_NAMED]]
    more = f" and {len(pairs) - MAX_NAMED} more" if len(pairs) > MAX_NAMED else ""
    return (f"No rel was sent, so {', '.join(sentences)}{more}. If the first does not wait for the second, send rel.",)


def get_project_id(row: Any) -> UUID:
    """Return the id of the row's project, or of the row itself if it is a project."""
    id: UUID = row.pk if isinstance(row, Project) else row.project_id
    return id


def _filter_alive() -> QuerySet[Edge]:
    return Edge.objects.filter(deleted_at=None)


def _filter_visible_end(end: str, subject: str) -> Q:
    condition = Q()
    for kind in EdgeKind:
        visible_rows = ENTITY_TYPE_BY_NAME[kind].get_rows().visible_to(subject).filter(pk=OuterRef(f"{end}_id"))
        condition |= Q((f"{end}_kind", kind)) & Q(Exists(visible_rows))
    return condition
