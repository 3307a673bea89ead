"""A project as a graph: its rows of all kinds as short nodes, and the edges between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, IntegerField, Q, QuerySet, UUIDField, Value
from django.db.models.functions import Cast, Left

from workspace.entity_types import DOCUMENT, GOAL, MILESTONE, PLAN, REQUIREMENT, RISK, TASK, EntityType
from workspace.models import Edge, EntityQuerySet, TaskState

# In order of importance: the limit cuts off the last ones first.
NODE_TYPES = (GOAL, MILESTONE, PLAN, TASK, RISK, REQUIREMENT, DOCUMENT)

MAX_LABEL_LENGTH = 120  # characters of a node's label
MAX_NODES, MAX_EDGES = 1_000, 3_000

NODE_COLUMNS = ("pk", "found_kind", "found_rank", "found_label", "found_state", "found_parent", "found_at")


@dataclass(frozen=True, slots=True)
class ProjectGraph:
    """Nodes and edges, including edges to the project, and the total number of each."""

    nodes: list[dict[str, Any]]
    node_count: int
    edges: list[dict[str, Any]]
    edge_count: int


def load_graph(project_id: UUID, *, subject: str, kinds: Sequence[str], include_done: bool, limit: int) -> ProjectGraph:
    """Return the part of a project's graph that the subject can see, in at most four queries.

    At most `limit` nodes, by kind and then newest update first. An edge is included if both its ends are.
    `include_done` adds done tasks.
    """
    queryset = _query_nodes(
        [kind for kind in NODE_TYPES if not kinds or kind.name in kinds], project_id, subject, include_done
    )
    rows = list(queryset[: limit + 1])
    nodes_by_id = {row["pk"]: row for row in rows[:limit]}
    node_count = len(rows) if len(rows) <= limit else queryset.count()
    edges, edge_count = _load_edges(nodes_by_id, project_id)
    return ProjectGraph([_serialize_node(row) for row in nodes_by_id.values()], node_count, edges, edge_count)


def _query_nodes(kinds: Iterable[EntityType], project_id: UUID, subject: str, include_done: bool) -> QuerySet[Any]:
    parts = [
        _query_kind(kind, rank, include_done).visible_to(subject).filter(project_id=project_id).values(*NODE_COLUMNS)
        for rank, kind in enumerate(kinds)
    ]
    rows = parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]
    return rows.order_by("found_rank", "-found_at", "-pk")


def _query_kind(kind: EntityType, rank: int, include_done: bool) -> EntityQuerySet[Any]:
    excluded = Q(state_key=TaskState.DONE) if kind is TASK and not include_done else Q(pk__in=[])
    return (
        kind.get_rows()
        .exclude(excluded)
        .annotate(
            found_kind=Value(kind.name, output_field=CharField()),
            found_rank=Value(rank, output_field=IntegerField()),
            found_label=Left(kind.label, MAX_LABEL_LENGTH + 1, output_field=CharField()),
            found_state=F("state_key") if kind.has_state else Value("", output_field=CharField()),
            found_parent=F("parent_task_id") if kind is TASK else Cast(Value(None), UUIDField()),
            found_at=F("updated_at"),
        )
    )


def _load_edges(node_ids: Iterable[UUID], project_id: UUID) -> tuple[list[dict[str, Any]], int]:
    """Return the edges between nodes, or between a node and the project, oldest first."""
    ends = [project_id, *node_ids]
    queryset = Edge.objects.filter(project=project_id, deleted_at=None, src_id__in=ends, dst_id__in=ends)
    edges = list(queryset.order_by("created_at", "id").only("src_id", "rel", "dst_id", "props")[: MAX_EDGES + 1])
    count = len(edges) if len(edges) <= MAX_EDGES else queryset.count()
    return [_serialize_edge(edge) for edge in edges[:MAX_EDGES]], count


def _serialize_edge(edge: Edge) -> dict[str, Any]:
    """Return a short edge. The nodes have the kinds of its ends."""
    fields = {"id": str(edge.pk), "src_id": str(edge.src_id), "rel": str(edge.rel), "dst_id": str(edge.dst_id)}
    return fields | ({"props": edge.props} if edge.props else {})


def _serialize_node(row: dict[str, Any]) -> dict[str, Any]:
    label, kind = row["found_label"], next(kind for kind in NODE_TYPES if kind.name == row["found_kind"])
    node = {
        "id": str(row["pk"]),
        "kind": kind.name,
        kind.label: label if len(label) <= MAX_LABEL_LENGTH else label[:MAX_LABEL_LENGTH] + "…",
        "state_key": row["found_state"],
        "parent_task_id": str(row["found_parent"]) if row["found_parent"] else "",
    }
    return {name: value for name, value in node.items() if value}
