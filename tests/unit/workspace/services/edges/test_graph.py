from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from tests.support.rows import project_graph as rows
from tests.support.rows.factories import MADE_AT, ProjectFactory
from workspace.models import Goal, Project
from workspace.services.edges import graph


def read(project: Project, *, subject: str = "owner", **options: Any) -> graph.ProjectGraph:
    return graph.load_graph(
        project.pk, subject=subject, **{"kinds": (), "include_done": False, "limit": 1000, **options}
    )


def list_labels(project_graph: graph.ProjectGraph) -> list[str]:
    return [node.get("name") or node.get("title") or node["text"] for node in project_graph.nodes]


def test_graph_has_brief_nodes_and_edges(project: Project) -> None:
    goal = rows.create_row("goal", project, name="g" * 121, state_key="active")
    task = rows.create_row("task", project, title="Write")
    part = rows.create_row("task", project, title="Part", parent_task=task)
    need = rows.create_row("requirement", project, text="Fast")
    held = rows.create_edge(goal, "has_task", task, props={"is_primary": True})
    first = rows.create_edge(project, "has_goal", goal)

    project_graph = read(project)

    tasks = [
        {"id": str(task.pk), "kind": "task", "title": "Write", "state_key": "todo"},
        {"id": str(part.pk), "kind": "task", "title": "Part", "state_key": "todo", "parent_task_id": str(task.pk)},
    ]
    assert project_graph.nodes == [
        {"id": str(goal.pk), "kind": "goal", "name": "g" * 120 + "…", "state_key": "active"},
        *sorted(tasks, key=lambda node: node["id"], reverse=True),  # created at the same time
        {"id": str(need.pk), "kind": "requirement", "text": "Fast"},
    ]
    to_task = {"id": str(held.pk), "src_id": str(goal.pk), "rel": "has_task", "dst_id": str(task.pk)}
    assert sorted(project_graph.edges, key=lambda edge: edge["rel"]) == [
        {"id": str(first.pk), "src_id": str(project.pk), "rel": "has_goal", "dst_id": str(goal.pk)},
        to_task | {"props": {"is_primary": True}},
    ]
    assert (project_graph.node_count, project_graph.edge_count) == (4, 2)


def test_done_tasks_are_omitted_with_their_edges(project: Project) -> None:
    done = rows.create_row("task", project, title="Done", state_key="done", completed_at=MADE_AT)
    rows.create_edge(rows.create_row("task", project, title="Open"), "depends_on", done)
    rows.create_row("goal", project, name="Reached", state_key="achieved", completed_at=MADE_AT)

    project_graph, all_of_it = read(project), read(project, include_done=True)

    assert (list_labels(project_graph), project_graph.edge_count) == (["Reached", "Open"], 0)
    assert (sorted(list_labels(all_of_it)), all_of_it.edge_count) == (["Done", "Open", "Reached"], 1)


def test_kinds_and_limit_reduce_the_graph(project: Project) -> None:
    for kind in ("document", "task", "plan", "goal"):
        rows.create_row(kind, project)
    goal, task = (rows.create_row(kind, project, updated_at=MADE_AT.replace(year=2030)) for kind in ("goal", "task"))
    rows.create_edge(goal, "has_task", task)

    tasks, two = read(project, kinds=["task", "goal"]), read(project, limit=3)

    assert [node["kind"] for node in tasks.nodes] == ["goal", "goal", "task", "task"]
    assert tasks.nodes[0]["id"] == str(goal.pk)  # newest update first
    assert (tasks.node_count, tasks.edge_count) == (4, 1)
    assert [node["kind"] for node in two.nodes] == ["goal", "goal", "plan"]
    assert (two.node_count, two.edges) == (6, [])


def test_invisible_rows_are_neither_shown_nor_counted(project: Project) -> None:
    task, gone = rows.create_row("task", project), rows.create_row("task", project, deleted_at=MADE_AT)
    rows.create_edge(task, "depends_on", gone)
    rows.create_edge(task, "blocks", rows.create_row("task", project), deleted_at=MADE_AT)
    foreign = rows.create_row("task", ProjectFactory(created_by="someone else"))
    rows.create_edge(task, "depends_on", foreign)  # no op creates such an edge

    project_graph = read(project)

    assert (project_graph.node_count, project_graph.edges, project_graph.edge_count) == (2, [], 0)
    assert read(project, subject="stranger").nodes == []


def test_thousand_nodes_cost_at_most_four_queries(
    project: Project, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(graph, "MAX_EDGES", 2)
    for kind in graph.NODE_TYPES:
        fields = [{kind.label: f"{kind.name} {number}"} for number in range(143)]
        kind.model._default_manager.bulk_create([kind.model(project=project, **each) for each in fields])
    for goal in Goal.objects.all()[:4]:
        rows.create_edge(project, "has_goal", goal)

    with django_assert_max_num_queries(4):
        project_graph = read(project)

    assert (len(project_graph.nodes), project_graph.node_count) == (1000, 1001)
    assert (len(project_graph.edges), project_graph.edge_count) == (2, 4)
