"""Edges in the database: linking, unlinking, and what a subject sees of them.

An edge shows only where the rows at both its ends show: edges of a deleted row stay, unseen, and are there again when
the row is restored.
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

ORIGINAL = "original_rel"  # the prop that keeps a name which no relation has
PRIMARY = "is_primary"  # the prop that marks the parent of a row

Ends = tuple[UUID, str, UUID]  # source, relation, destination: no two living edges have the same

OUTGOING, INCOMING = "outgoing", "incoming"  # seen from one of its ends


def build(
    relation: Relation, src: Entity, dst: Entity, *, by: str, at: datetime, props: Mapping[str, Any] | None = None
) -> Edge:
    """Return an edge, not yet saved, from `src` to `dst` as they were sent: the relation says which is its source."""
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
    """Return what makes an edge the one that it is."""
    return edge.src_id, edge.rel, edge.dst_id


def link(edge: Edge) -> tuple[Edge, bool]:
    """Save an edge and say that it was made; where there is one already, return that one and say no.

    The caller holds the locks of `access.named_rows`, so that nobody links the same rows at the same time.
    """
    there = _alive().filter(src_id=edge.src_id, rel=edge.rel, dst_id=edge.dst_id).first()
    if there is not None:
        return there, False
    edge.save(force_insert=True)
    return edge, True


def unlink(found: QuerySet[Edge], *, at: datetime) -> int:
    """Mark edges deleted and return how many there were."""
    return found.filter(deleted_at=None).update(deleted_at=at)


def visible(subject: str) -> QuerySet[Edge]:
    """Return the edges whose ends a subject sees, both of them."""
    return _alive().filter(_end_is_visible("src", subject), _end_is_visible("dst", subject))


def around(id: UUID, direction: str, *, subject: str) -> QuerySet[Edge]:
    """Return the edges that go out from a row, or come in to it, whose other end a subject sees; the oldest first.

    Whether the subject sees the row itself is the caller's to know.
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
    """Return the refusal of an edge's id: the same words whether it is foreign, gone, or never was."""
    return NotFound(
        "No edge that you can see has this edge_id; find its id with onto.entity.relationships.get "
        "or onto.entity.links.get."
    )


def renamed(sent: str, relation: Relation, *, argument: str = "rel", is_new: bool = True) -> tuple[str, ...]:
    """Return a sentence where a relation is stored, or was stored before, otherwise than it was sent."""
    if relation.is_guess:
        read = f"stored {relation.told}, and your word in {ORIGINAL}" if is_new else f"read as {relation.told}"
        told = f"{argument} is no relation of the two kinds; {read}."
    elif sent != relation.rel:
        told = f"Read {argument} as {relation.told}."
    elif relation.swapped:
        told = f"Swapped the ends, for {relation.rel} goes from the {relation.src_kind} to the {relation.dst_kind}."
    else:
        return ()
    return (told,)


def project_id(row: Any) -> UUID:
    """Return the project that a row lies in; a project lies in itself."""
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
