"""Rows linked to a row, and rows that depend on it."""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, F, IntegerField, Q, QuerySet, Subquery, UUIDField, Value, When
from django.db.models.expressions import OuterRef

from workspace.entity_types import ENTITY_TYPE_BY_NAME, EVENT, PROJECT, TASK, EntityType
from workspace.models import Edge, Entity, EntityQuerySet, Project, Task
from workspace.services.edges.edges import INCOMING, OUTGOING
from workspace.services.entities.serialization import quote_name
from workspace.services.search import ranking

MAX_ROWS_PER_KIND = 50  # rows per kind
MAX_NAMED = 3
MAX_COUNTED = 50


def list_linked_kinds(id: UUID) -> list[EntityType]:
    """Return the types of rows that may be linked to a row, in one query, in their standard order."""
    ends = Edge.objects.filter(_filter_by_end(id)).values_list("src_id", "src_kind", "dst_kind").distinct()
    names = {dst_kind if src_id == id else src_kind for src_id, src_kind, dst_kind in ends}
    return [kind for name, kind in ENTITY_TYPE_BY_NAME.items() if name in names]


def filter_linked(queryset: EntityQuerySet[Any], id: UUID, *, parent_column: str = "") -> EntityQuerySet[Any]:
    """Return the rows of a queryset that an edge joins with a row, in either direction, and the parts of these."""
    edges = Edge.objects.filter(deleted_at=None)
    ends = (edges.filter(src_id=id).values("dst_id"), edges.filter(dst_id=id).values("src_id"))
    columns = ("pk", parent_column) if parent_column else ("pk",)
    return queryset.filter(reduce(or_, (Q((f"{column}__in", each)) for column in columns for each in ends)))


def list_linked_rows(
    id: UUID, *, kind: EntityType, subject: str, limit: int = MAX_ROWS_PER_KIND
) -> tuple[list[dict[str, Any]], int]:
    """Return the linked rows of a type that the subject can see, one list row per edge, and their total number.

    Unfinished rows come first, then the newest updates. Takes one query, or two if there are more than `limit`.
    """
    queryset = _query_linked_edges(id, kind, subject)
    is_finished = Case(When(neighbour_state__in=kind.final_states, then=1), default=0, output_field=IntegerField())
    order = (is_finished, "-neighbour_updated_at", "pk") if kind.final_states else ("-neighbour_updated_at", "pk")
    edges = list(queryset.order_by(*order)[: limit + 1])
    total = len(edges) if len(edges) <= limit else queryset.count()
    return [_serialize_linked_row(edge, id, kind) for edge in edges[:limit]], total


def list_linked_summaries(id: UUID, *, subject: str, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Return short versions of the linked rows that the subject can see, by relation, and whether there are more.

    Leaves out the project. Takes two queries.
    """
    queryset = (
        Edge.objects.filter(_filter_by_end(id)).exclude(src_kind=PROJECT.name).order_by("rel", "created_at", "pk")
    )
    edges = list(queryset[: limit + 1])
    ends = {
        edge.pk: (edge.dst_id, edge.dst_kind) if edge.src_id == id else (edge.src_id, edge.src_kind) for edge in edges
    }
    rows = _load_summaries(ends.values(), subject) if ends else {}
    summaries = [
        rows[ends[edge.pk][0]] | {"rel": edge.rel, "direction": OUTGOING if edge.src_id == id else INCOMING}
        for edge in edges[:limit]
        if ends[edge.pk][0] in rows
    ]
    return summaries, len(edges) > limit


def _load_summaries(ends: Iterable[tuple[UUID, str]], subject: str) -> dict[UUID, dict[str, Any]]:
    """Return short rows by id, in one query, if the subject can see them. `ends` are pairs of id and kind."""
    ids: dict[str, set[UUID]] = {}
    for end_id, kind_name in ends:
        ids.setdefault(kind_name, set()).add(end_id)
    parts = [
        ranking.query_visible_rows(ENTITY_TYPE_BY_NAME[name], subject=subject, project_id=None)
        .annotate(
            found_state=F("state_key") if ENTITY_TYPE_BY_NAME[name].has_state else Value("", output_field=CharField())
        )
        .filter(pk__in=row_ids)
        .values("pk", "found_kind", "found_title", "found_state")
        for name, row_ids in ids.items()
    ]
    return {row["pk"]: _serialize_summary(row) for row in ranking.union_all(parts)}


def _serialize_summary(row: dict[str, Any]) -> dict[str, Any]:
    kind = ENTITY_TYPE_BY_NAME[row["found_kind"]]
    fields = {"id": str(row["pk"]), "kind": kind.name, kind.label: row["found_title"], "state_key": row["found_state"]}
    return {name: value for name, value in fields.items() if value}


def _filter_by_end(id: UUID) -> Q:
    return Q(deleted_at=None) & (Q(src_id=id) | Q(dst_id=id))


def _query_linked_edges(id: UUID, kind: EntityType, subject: str) -> QuerySet[Any]:
    other = Case(When(src_id=id, then=F("dst_id")), default=F("src_id"), output_field=UUIDField())
    visible_rows = kind.get_rows().visible_to(subject).filter(pk=OuterRef("neighbour_id"))
    return (
        Edge.objects.filter(_filter_by_end(id), Q(src_id=id, dst_kind=kind.name) | Q(dst_id=id, src_kind=kind.name))
        .annotate(neighbour_id=other)
        .annotate(
            neighbour_label=Subquery(visible_rows.values(kind.label)[:1]),
            neighbour_state=Subquery(visible_rows.values("state_key")[:1]) if kind.has_state else Value(""),
            neighbour_updated_at=Subquery(visible_rows.values("updated_at")[:1]),
        )
        .filter(neighbour_label__isnull=False)  # every row has a label, so null means not visible
    )


def _serialize_linked_row(edge: Any, id: UUID, kind: EntityType) -> dict[str, Any]:
    fields = {
        "id": str(edge.neighbour_id),
        "kind": kind.name,
        kind.label: edge.neighbour_label,
        "state_key": edge.neighbour_state or None,
        "rel": edge.rel,
        "direction": OUTGOING if edge.src_id == id else INCOMING,
        "edge_id": str(edge.pk),
    }
    return {name: value for name, value in fields.items() if value is not None}


def describe_dependents(row: Entity, *, subject: str) -> str:
    """Return sentences about the rows that depend on the row, each after a space; empty if there are none."""
    parts = []
    if isinstance(row, Task):
        if row.recurrence:
            parts.append(f"It recurred {row.recurrence}, so all its occurrences are gone.")
        subtasks = TASK.get_rows().visible_to(subject).filter(parent_task=row.pk).order_by("title", "pk")
        titles = list(subtasks.values_list("title", flat=True)[: MAX_COUNTED + 1])
        if titles:
            stay = "subtask stays" if len(titles) == 1 else "subtasks stay"
            parts.append(
                f"{_count(titles)} {stay} without a parent: {_enumerate([quote_name(title) for title in titles])}."
            )
    parts += _describe_links(row, subject=subject)
    return "".join(f" {part}" for part in parts)


def describe_contents(project: Project) -> str:
    """Return a sentence about the rows in a project that is deleted, after a space; empty if there are none."""
    kinds = [kind for kind in (*ENTITY_TYPE_BY_NAME.values(), EVENT) if kind is not PROJECT]
    counts = [(kind.get_rows().alive().filter(project=project).count(), kind) for kind in kinds]
    named = [f"{count} {kind.name if count == 1 else kind.plural}" for count, kind in counts if count]
    return f" It contained {', '.join(named)}." if named else ""


def _describe_links(row: Entity, *, subject: str) -> list[str]:
    """Return the sentence about the links of a deleted row, with the kinds of the other rows; empty without links."""
    links, has_more = list_linked_summaries(row.pk, subject=subject, limit=MAX_COUNTED)
    ends = [f"the {link['kind']} {quote_name(link[ENTITY_TYPE_BY_NAME[link['kind']].label])}" for link in links]
    if has_more:
        ends.append("")
    if not ends:
        return []
    if len(ends) == 1:
        return [f"Its link to {ends[0]} was removed; the {links[0]['kind']} stays."]
    count = _count(ends) if has_more else f"Its {_count(ends)}"
    return [f"{count} links were removed: to {_enumerate(ends)}; these stay."]


def _count(names: Sequence[str]) -> str:
    return f"More than {MAX_COUNTED}" if len(names) > MAX_COUNTED else str(len(names))


def _enumerate(names: Sequence[str]) -> str:
    """Return the first names, and a mark if there are more."""
    return ", ".join([*names[:MAX_NAMED], *(["…"] if len(names) > MAX_NAMED else [])])
