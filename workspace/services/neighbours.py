"""The rows that are linked to a row by edges."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, F, IntegerField, Q, QuerySet, Subquery, UUIDField, Value, When
from django.db.models.expressions import OuterRef

from workspace.kinds import KINDS, PROJECT, Kind
from workspace.models import Edge
from workspace.services import ranking
from workspace.services.edges import INCOMING, OUTGOING

MOST = 50  # rows per kind


def kinds(id: UUID) -> list[Kind]:
    """Return the types of rows that may be linked to a row, in one query, in their standard order."""
    ends = Edge.objects.filter(_touching(id)).values_list("src_id", "src_kind", "dst_kind").distinct()
    there = {dst_kind if src_id == id else src_kind for src_id, src_kind, dst_kind in ends}
    return [kind for name, kind in KINDS.items() if name in there]


def find(id: UUID, *, kind: Kind, subject: str, limit: int = MOST) -> tuple[list[dict[str, Any]], int]:
    """Return the linked rows of a type that the subject can see, one list row per edge, and their total number.

    Unfinished rows come first, then the newest updates. Takes one query, or two if there are more than `limit`.
    """
    found = _linked(id, kind, subject)
    over = Case(When(neighbour_state__in=kind.finished, then=1), default=0, output_field=IntegerField())
    order = (over, "-neighbour_updated_at", "pk") if kind.finished else ("-neighbour_updated_at", "pk")
    edges = list(found.order_by(*order)[: limit + 1])
    total = len(edges) if len(edges) <= limit else found.count()
    return [_told(edge, id, kind) for edge in edges[:limit]], total


def in_brief(id: UUID, *, subject: str, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Return short versions of the linked rows that the subject can see, by relation, and whether there are more.

    Leaves out the project. Takes two queries.
    """
    found = Edge.objects.filter(_touching(id)).exclude(src_kind=PROJECT.name).order_by("rel", "created_at", "pk")
    edges = list(found[: limit + 1])
    ends = {
        edge.pk: (edge.dst_id, edge.dst_kind) if edge.src_id == id else (edge.src_id, edge.src_kind) for edge in edges
    }
    rows = _named(ends.values(), subject) if ends else {}
    told = [
        rows[ends[edge.pk][0]] | {"rel": edge.rel, "direction": OUTGOING if edge.src_id == id else INCOMING}
        for edge in edges[:limit]
        if ends[edge.pk][0] in rows
    ]
    return told, len(edges) > limit


def _named(ends: Iterable[tuple[UUID, str]], subject: str) -> dict[UUID, dict[str, Any]]:
    """Return short rows by id, in one query, if the subject can see them. `ends` are pairs of id and kind."""
    ids: dict[str, set[UUID]] = {}
    for end_id, kind_name in ends:
        ids.setdefault(kind_name, set()).add(end_id)
    parts = [
        ranking.visible(KINDS[name], subject=subject, project_id=None)
        .annotate(found_state=F("state_key") if KINDS[name].has_state else Value("", output_field=CharField()))
        .filter(pk__in=those)
        .values("pk", "found_kind", "found_title", "found_state")
        for name, those in ids.items()
    ]
    return {row["pk"]: _brief(row) for row in ranking.together(parts)}


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    kind = KINDS[row["found_kind"]]
    brief = {"id": str(row["pk"]), "kind": kind.name, kind.label: row["found_title"], "state_key": row["found_state"]}
    return {name: value for name, value in brief.items() if value}


def _touching(id: UUID) -> Q:
    return Q(deleted_at=None) & (Q(src_id=id) | Q(dst_id=id))


def _linked(id: UUID, kind: Kind, subject: str) -> QuerySet[Any]:
    other = Case(When(src_id=id, then=F("dst_id")), default=F("src_id"), output_field=UUIDField())
    seen = kind.rows().visible_to(subject).filter(pk=OuterRef("neighbour_id"))
    return (
        Edge.objects.filter(_touching(id), Q(src_id=id, dst_kind=kind.name) | Q(dst_id=id, src_kind=kind.name))
        .annotate(neighbour_id=other)
        .annotate(
            neighbour_label=Subquery(seen.values(kind.label)[:1]),
            neighbour_state=Subquery(seen.values("state_key")[:1]) if kind.has_state else Value(""),
            neighbour_updated_at=Subquery(seen.values("updated_at")[:1]),
        )
        .filter(neighbour_label__isnull=False)  # every row has a label, so null means not visible
    )


def _told(edge: Any, id: UUID, kind: Kind) -> dict[str, Any]:
    row = {
        "id": str(edge.neighbour_id),
        "kind": kind.name,
        kind.label: edge.neighbour_label,
        "state_key": edge.neighbour_state or None,
        "rel": edge.rel,
        "direction": OUTGOING if edge.src_id == id else INCOMING,
        "edge_id": str(edge.pk),
    }
    return {name: value for name, value in row.items() if value is not None}
