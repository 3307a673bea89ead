"""onto.project.graph.get and onto.project.graph.reorganize on stored rows."""

from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import NotFound, StateConflict
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import MADE_AT, ProjectFactory
from tests.support.values.handler_calls import AT, call_handler
from workspace.handlers.graph import graph
from workspace.models import Edge, Project
from workspace.services.edges import graph_reorganize


def to(row: Any, **more: Any) -> dict[str, Any]:
    return {"kind": row._meta.model_name, "id": str(row.pk)} | more


def node(row: Any, *others: Any, **more: Any) -> dict[str, Any]:
    return to(row) | {"connections": [to(other) for other in others]} | more


def reorganize(project: Project, *nodes: dict[str, Any], subject: str = "owner", **options: Any) -> Any:
    sent = {"project_id": str(project.pk), "nodes": list(nodes)} | ({"options": options} if options else {})
    return call_handler("reorganize_onto_project_graph", subject=subject, **sent)


def test_get_returns_nodes_edges_and_counts(project: Project) -> None:
    project_graph.create_edge(
        project_graph.create_row("plan", project), "has_task", project_graph.create_row("task", project)
    )

    outcome = call_handler("get_onto_project_graph", project_id=str(project.pk), limit=1)

    result = outcome.result
    assert result["project"] == {"id": str(project.pk), "name": project.name}
    assert [each["kind"] for each in result["nodes"]] == ["plan"]
    assert (result["edges"], result["counts"], result["has_more"]) == ([], {"nodes": 2, "edges": 0}, True)
    assert result["message"] == (
        "1 of 2 nodes and 0 of 0 edges. Send kinds to list fewer kinds completely. Done tasks are left out; "
        "include_done adds them. A row without a parent is directly "
        "in the project."
    )
    assert (outcome.entity_id, outcome.entity_name) == (str(project.pk), project.name)
    assert call_handler("get_onto_project_graph", project_id=str(project.pk)).result["has_more"] is False


def test_reorganize_moves_a_task_and_returns_the_changes(project: Project) -> None:
    task, old, new = (project_graph.create_row(kind, project) for kind in ("task", "plan", "plan"))
    before = project_graph.create_edge(old, "has_task", task)

    outcome = reorganize(project, node(task, new))

    edge = Edge.objects.get(deleted_at=None)
    before.refresh_from_db()
    assert (edge.src_id, edge.rel, edge.dst_id, edge.props) == (new.pk, "has_task", task.pk, {"is_primary": True})
    assert (edge.project_id, edge.created_by, edge.created_at, before.deleted_at) == (project.pk, "owner", AT, AT)
    expected = {"src_kind": "plan", "rel": "has_task", "dst_kind": "task", "dst_id": str(task.pk)}
    plan_hash = outcome.result.pop("plan_hash")
    assert len(plan_hash) == 16
    assert outcome.result == {
        "project": {"id": str(project.pk), "name": project.name},
        "node_count": 1,
        "counts": {"created": 1, "deleted": 1, "updated": 0},
        "changes": {
            "created": [expected | {"id": str(edge.pk), "src_id": str(new.pk), "props": {"is_primary": True}}],
            "deleted": [expected | {"id": str(before.pk), "src_id": str(old.pk), "props": {}}],
            "updated": [],
        },
        "message": "Changed edges: 1 created, 1 deleted.",
    }
    assert (outcome.warnings, outcome.entity_id) == ((), str(project.pk))


def test_second_reorganize_changes_nothing_and_says_so(project: Project) -> None:
    task, plan = project_graph.create_row("task", project), project_graph.create_row("plan", project)
    edge = project_graph.create_edge(plan, "has_task", task, props={"note": "kept"})
    first = reorganize(project, node(task, plan))
    before = list(Edge.objects.values())

    outcome = reorganize(project, node(task, plan))

    edge.refresh_from_db()
    assert (first.result["counts"]["updated"], edge.props) == (1, {"note": "kept", "is_primary": True})
    expected = (("unchanged",), "Nothing changed: the rows are already organized this way.")
    assert (outcome.warnings, outcome.result["message"]) == expected
    assert list(Edge.objects.values()) == before


def test_dry_run_returns_the_plan_and_changes_nothing(project: Project) -> None:
    task, old, new = (project_graph.create_row(kind, project) for kind in ("task", "plan", "plan"))
    project_graph.create_edge(old, "has_task", task)
    before = list(Edge.objects.values())

    dry = reorganize(project, node(task, new), dry_run=True).result

    assert list(Edge.objects.values()) == before
    assert dry["dry_run"] is True
    assert "id" not in dry["changes"]["created"][0]
    assert dry["message"].startswith("Would change edges: 1 created, 1 deleted. To apply it, send plan_hash")
    done = reorganize(project, node(task, new), plan_hash=dry["plan_hash"]).result
    assert done["counts"] == dry["counts"]
    assert done["plan_hash"] == dry["plan_hash"]
    assert "dry_run" not in done


@for_each("dry_run", [False, True], undone=True)
def test_stale_plan_is_a_conflict_and_changes_nothing(project: Project, dry_run: bool) -> None:
    task, old, new = (project_graph.create_row(kind, project) for kind in ("task", "plan", "plan"))
    plan_hash = reorganize(project, node(task, new), dry_run=True).result["plan_hash"]
    project_graph.create_edge(old, "has_task", task)  # another user changed it first
    before = list(Edge.objects.values())

    with pytest.raises(StateConflict) as refused:
        reorganize(project, node(task, new), plan_hash=plan_hash, dry_run=dry_run)

    assert refused.value.reason == "stale_plan"
    assert list(Edge.objects.values()) == before


def test_edge_deleted_after_reading_is_a_conflict(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    task, old, new = (project_graph.create_row(kind, project) for kind in ("task", "plan", "plan"))
    edge = project_graph.create_edge(old, "has_task", task)
    read = graph_reorganize.list_visible_edges

    def read_then_unlink(*args: Any, **named: Any) -> list[Edge]:
        edges = read(*args, **named)
        call_handler("unlink_onto_edge", edge_id=str(edge.pk))
        return edges

    monkeypatch.setattr(graph_reorganize, "list_visible_edges", read_then_unlink)
    with pytest.raises(StateConflict) as refused:
        reorganize(project, node(task, new))

    assert refused.value.reason == "stale_plan"
    assert not Edge.objects.filter(src_id=new.pk).exists()


def test_nodes_of_other_projects_are_reported_together(project: Project) -> None:
    task, plan = project_graph.create_row("task", project), project_graph.create_row("plan", project)
    elsewhere = project_graph.create_row("task", ProjectFactory())  # of the same owner

    with pytest.raises(NotFound) as refused:
        reorganize(project, node(task, plan), node(elsewhere), node(plan, elsewhere))

    errors = refused.value.field_errors
    paths = ["/nodes/1/id", "/nodes/2/connections/0/id"]
    assert [(error.path, error.code) for error in errors] == [(path, "not_found") for path in paths]
    words = {error.message.replace(error.path.removeprefix("/"), "<path>") for error in errors}
    assert words == {
        "No task of this project that you can see has this <path>; find its id with onto.task.list or onto.task.search."
    }
    assert not Edge.objects.exists()


def test_row_with_a_wrong_kind_is_not_found(project: Project) -> None:
    task = project_graph.create_row("task", project)

    with pytest.raises(NotFound, match="1 of the ids is not a row") as caught:
        reorganize(project, {"kind": "plan", "id": str(task.pk), "connections": []})

    assert caught.value.field_errors[0].message.startswith("No plan of this project")


def test_edges_to_invisible_rows_are_kept_and_not_shown(project: Project) -> None:
    task, gone = (
        project_graph.create_row("task", project),
        project_graph.create_row("plan", project, deleted_at=MADE_AT),
    )
    hidden = project_graph.create_edge(gone, "has_task", task)
    project_graph.create_edge(task, "depends_on", project_graph.create_row("task", project, deleted_at=MADE_AT))

    result = reorganize(project, node(task), semantic_mode="replace_auto").result

    assert result["counts"] == {"created": 0, "deleted": 0, "updated": 0}
    hidden.refresh_from_db()
    assert hidden.deleted_at is None  # the edge is visible again when the plan is restored


def test_reorganize_query_count_does_not_depend_on_nodes_and_few_changes_are_listed(
    project: Project, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(graph, "MAX_LISTED_CHANGES", 2)
    plans = [project_graph.create_row("plan", project) for _ in range(2)]
    tasks = [project_graph.create_row("task", project) for _ in range(200)]
    for task in tasks:
        project_graph.create_edge(plans[0], "has_task", task)

    # The project, tasks, plans, edges; edges to change, deleted, created (SQLite allows 999 values per statement).
    with django_assert_max_num_queries(12):
        result = reorganize(project, *(node(task, plans[1]) for task in tasks)).result

    assert result["counts"] == {"created": 200, "deleted": 200, "updated": 0}
    assert (len(result["changes"]["created"]), len(result["changes"]["deleted"])) == (2, 2)
    assert result["message"] == "Changed edges: 200 created, 200 deleted. At most 2 of each are listed."
