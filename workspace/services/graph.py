"""A project as a graph: its rows of all kinds as short nodes, and the edges between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import CharField, F, IntegerField, Q, QuerySet, UUIDField, Value
from django.db.models.functions import Cast, Left

from workspace.kinds import DOCUMENT, GOAL, MILESTONE, PLAN, REQUIREMENT, RISK, TASK, Kind
from workspace.models import Edge, EntityQuerySet, TaskState

# In order of importance: the limit cuts off the last ones first.
KINDS = (GOAL, MILESTONE, PLAN, TASK, RISK, REQUIREMENT, DOCUMENT)

LONGEST_LABEL = 120  # characters of a node's label
MOST_NODES, MOST_EDGES = 1_000, 3_000

COLUMNS = ("pk", "found_kind", "found_rank", "found_label", "found_state", "found_parent", "found_at")


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and edges, including edges to the project, and the total number of each."""

    nodes: list[dict[str, Any]]
    node_count: int
    edges: list[dict[str, Any]]
    edge_count: int


def read(project_id: UUID, *, subject: str, kinds: Sequence[str], done_too: bool, limit: int) -> Graph:
    """Return the part of a project's graph that the subject can see, in at most four queries.

    At most `limit` nodes, by kind and then newest update first. An edge is included if both its ends are.
    `include_done` adds done tasks.
    """
    found = _rows([kind for kind in KINDS if not kinds or kind.name in kinds], project_id, subject, done_too)
    rows = list(found[: limit + 1])
    shown = {row["pk"]: row for row in rows[:limit]}
    node_count = len(rows) if len(rows) <= limit else found.count()
    edges, edge_count = _edges(shown, project_id)
    return Graph([_node(row) for row in shown.values()], node_count, edges, edge_count)


def _rows(kinds: Iterable[Kind], project_id: UUID, subject: str, done_too: bool) -> QuerySet[Any]:
    parts = [
        _of_kind(kind, rank, done_too).visible_to(subject).filter(project_id=project_id).values(*COLUMNS)
        for rank, kind in enumerate(kinds)
    ]
    rows = parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]
    return rows.order_by("found_rank", "-found_at", "-pk")


def _of_kind(kind: Kind, rank: int, done_too: bool) -> EntityQuerySet[Any]:
    left_out = Q(state_key=TaskState.DONE) if kind is TASK and not done_too else Q(pk__in=[])
    return (
        kind.rows()
        .exclude(left_out)
        .annotate(
            found_kind=Value(kind.name, output_field=CharField()),
            found_rank=Value(rank, output_field=IntegerField()),
            found_label=Left(kind.label, LONGEST_LABEL + 1, output_field=CharField()),
            found_state=F("state_key") if kind.has_state else Value("", output_field=CharField()),
            found_parent=F("parent_task_id") if kind is TASK else Cast(Value(None), UUIDField()),
            found_at=F("updated_at"),
        )
    )


def _edges(shown: Iterable[UUID], project_id: UUID) -> tuple[list[dict[str, Any]], int]:
    """Return the edges between nodes, or between a node and the project, oldest first."""
    ends = [project_id, *shown]
    found = Edge.objects.filter(project=project_id, deleted_at=None, src_id__in=ends, dst_id__in=ends)
    edges = list(found.order_by("created_at", "id").only("src_id", "rel", "dst_id", "props")[: MOST_EDGES + 1])
    count = len(edges) if len(edges) <= MOST_EDGES else found.count()
    return [_told(edge) for edge in edges[:MOST_EDGES]], count


def _told(edge: Edge) -> dict[str, Any]:
    """Return a short edge. The nodes have the kinds of its ends."""
    told = {"id": str(edge.pk), "src_id": str(edge.src_id), "rel": str(edge.rel), "dst_id": str(edge.dst_id)}
    return told | ({"props": edge.props} if edge.props else {})


def _node(row: dict[str, Any]) -> dict[str, Any]:
    label, kind = row["found_label"], next(kind for kind in KINDS if kind.name == row["found_kind"])
    node = {
        "id": str(row["pk"]),
        "kind": kind.name,
        kind.label: label if len(label) <= LONGEST_LABEL else label[:LONGEST_LABEL] + "…",
        "state_key": row["found_state"],
        "parent_task_id": str(row["found_parent"]) if row["found_parent"] else "",
    }
    return {name: value for name, value in node.items() if value}
