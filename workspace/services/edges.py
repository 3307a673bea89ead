"""Create, delete and query edges.

An edge is visible only if the rows at both ends are. Edges of a deleted row stay in the database and become visible
again when the row is restored.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from workspace.errors import NotFound
from workspace.kinds import KINDS
from workspace.models import Edge, EdgeKind, Entity, Project
from workspace.relations import Relation
from workspace.services import times

ORIGINAL = "original_rel"  # the prop with the relation name that was sent but does not exist
PRIMARY = "is_primary"  # the prop that marks the primary parent

Ends = tuple[UUID, str, UUID]  # source, relation, destination; unique among living edges

OUTGOING, INCOMING = "outgoing", "incoming"  # as seen from one end


def build(
    relation: Relation, src: Entity, dst: Entity, *, by: str, at: datetime, props: Mapping[str, Any] | None = None
) -> Edge:
    """Return an unsaved edge. `src` and `dst` are in the order sent; the relation says whether to swap them."""
    source, destination = (dst, src) if relation.swapped else (src, dst)
    return Edge(
        project_id=project_id(source),
        src_kind=relation.src_kind,
        src_id=source.pk,
        rel=relation.rel,
        dst_kind=relation.dst_kind,
        dst_id=destination.pk,
        props=dict(props or {}),
        created_by=by,
        created_at=at,
    )


def ends(edge: Edge) -> Ends:
    """Return the identity of an edge: source, relation and destination."""
    return edge.src_id, edge.rel, edge.dst_id


def link(edge: Edge) -> tuple[Edge, bool]:
    """Save the edge unless an identical one exists. Return the stored edge and whether it is new.

    The caller must hold the row locks of `workspace.services.access`, so that nobody links the same rows concurrently.
    """
    there = _alive().filter(src_id=edge.src_id, rel=edge.rel, dst_id=edge.dst_id).first()
    if there is not None:
        return there, False
    edge.save(force_insert=True)
    return edge, True


def unlink(found: QuerySet[Edge], *, at: datetime) -> int:
    """Mark edges as deleted and return their number."""
    return found.filter(deleted_at=None).update(deleted_at=at)


def visible(subject: str) -> QuerySet[Edge]:
    """Return the edges whose rows at both ends the subject can see."""
    return _alive().filter(_end_is_visible("src", subject), _end_is_visible("dst", subject))


def around(id: UUID, direction: str, *, subject: str) -> QuerySet[Edge]:
    """Return the outgoing or incoming edges of a row whose other end the subject can see, oldest first.

    The caller must check that the subject can see the row itself.
    """
    own, other = ("src", "dst") if direction == OUTGOING else ("dst", "src")
    found = _alive().filter(_end_is_visible(other, subject), **{f"{own}_id": id})
    return found.order_by("created_at", "id")


def told(edge: Edge) -> dict[str, Any]:
    """Return an edge as JSON values."""
    return {
        "id": str(edge.pk),
        "src_kind": str(edge.src_kind),
        "src_id": str(edge.src_id),
        "rel": str(edge.rel),
        "dst_kind": str(edge.dst_kind),
        "dst_id": str(edge.dst_id),
        "props": edge.props,
        "created_at": times.write(edge.created_at),
    }


def not_found() -> NotFound:
    """Return the error for an unknown edge id. The message is the same if it is hidden, deleted or never existed."""
    return NotFound(
        "No edge that you can see has this edge_id; find its id with onto.entity.relationships.get "
        "or onto.entity.links.get."
    )


def renamed(sent: str, relation: Relation, *, argument: str = "rel", is_new: bool = True) -> tuple[str, ...]:
    """Return a warning if the relation is stored, or was found, under another name or direction than the one sent."""
    if relation.is_guess:
        read = f"stored as {relation.told}, with the original in {ORIGINAL}" if is_new else f"read as {relation.told}"
        told = f"{argument} is not a relation between these kinds; {read}."
    elif sent != relation.rel:
        told = f"Read {argument} as {relation.told}."
    elif relation.swapped:
        told = f"Swapped the ends: {relation.rel} goes from {relation.src_kind} to {relation.dst_kind}."
    else:
        return ()
    return (told,)


def project_id(row: Any) -> UUID:
    """Return the id of the row's project, or of the row itself if it is a project."""
    id: UUID = row.pk if isinstance(row, Project) else row.project_id
    return id


def _alive() -> QuerySet[Edge]:
    return Edge.objects.filter(deleted_at=None)


def _end_is_visible(end: str, subject: str) -> Q:
    condition = Q()
    for kind in EdgeKind:
        seen = KINDS[kind].rows().visible_to(subject).filter(pk=OuterRef(f"{end}_id"))
        condition |= Q((f"{end}_kind", kind)) & Q(Exists(seen))
    return condition
