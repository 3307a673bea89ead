"""create and update with arguments that create edges."""

import uuid
from typing import Any

import pytest

from core.handler_contract import InvalidArgs, NotFound
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import MADE_AT, ProjectFactory
from tests.support.values.handler_calls import AT, call_handler, list_field_errors
from workspace.models import Edge, Project, Task


def create(project: Project, **sent: Any) -> Any:
    return call_handler("create_onto_task", project_id=str(project.pk), title="Write", **sent)


def refer_to(row: Any, **more: Any) -> dict[str, Any]:
    return {"kind": row._meta.model_name, "id": str(row.pk)} | more


def test_create_without_link_arguments_creates_no_edge(project: Project) -> None:
    result = create(project, plan_id=None, parents=[], connections=[]).result

    assert sorted(result) == ["message", "task"]
    assert result["message"] == "Created the task “Write”."
    assert project_graph.list_edges() == []


def test_create_links_the_task_and_returns_the_edges(project: Project) -> None:
    plan, goal, milestone = (project_graph.create_row(kind, project) for kind in ("plan", "goal", "milestone"))

    outcome = create(
        project, plan_id=str(plan.pk), goal_id=str(goal.pk).upper(), supporting_milestone_id=str(milestone.pk)
    )

    task = Task.objects.get()
    expected = ["plan has_task task", "task supports_goal goal", "task targets_milestone milestone"]
    assert project_graph.list_edges() == expected
    held = Edge.objects.get(rel="has_task")
    assert (held.src_id, held.dst_id, held.props) == (plan.pk, task.pk, {"is_primary": True})
    assert (held.project_id, held.created_by, held.created_at) == (project.pk, "owner", AT)
    assert Edge.objects.get(rel="supports_goal").dst_id == goal.pk
    assert [each["rel"] for each in outcome.result["edges"]] == ["has_task", "supports_goal", "targets_milestone"]
    assert outcome.result["message"] == "Created the task “Write” and 3 edges."
    assert outcome.warnings == ()


def test_create_links_a_row_named_twice_once(project: Project) -> None:
    plan = project_graph.create_row("plan", project)

    create(project, plan_id=str(plan.pk), parent=refer_to(plan), parents=[refer_to(plan)], connections=[refer_to(plan)])

    assert project_graph.list_edges() == ["plan has_task task"]
    assert Edge.objects.get().props == {"is_primary": True}


def test_create_stores_a_word_that_is_not_a_relation(project: Project) -> None:
    other = project_graph.create_row("task", project)

    outcome = create(project, connections=[refer_to(other, rel="echoes")])

    edge = Edge.objects.get()
    assert (str(edge), edge.dst_id, edge.props) == ("task references task", other.pk, {"original_rel": "echoes"})
    assert len(outcome.warnings) == 1


@for_each(
    "argument, kind", [("plan_id", "plan"), ("goal_id", "goal"), ("supporting_milestone_id", "milestone")], undone=True
)
def test_create_refuses_rows_of_other_projects(project: Project, argument: str, kind: str) -> None:
    elsewhere = project_graph.create_row(kind, ProjectFactory())  # of the same owner

    with pytest.raises(NotFound, match=f"No {kind} of this project that you can see has this {argument};"):
        create(project, **{argument: str(elsewhere.pk)})

    assert not Task.objects.exists()


def test_create_finds_rows_by_title(project: Project) -> None:
    plan, goal, task = (
        project_graph.create_row("plan", project, name="Phase"),
        project_graph.create_row("goal", project),
        project_graph.create_row("task", project),
    )

    outcome = create(
        project,
        parent={"kind": "plan", "title": "phase"},
        connections=[{"kind": "goal", "title": goal.name}, {"kind": "task", "id": str(task.pk), "title": "ignored"}],
    )

    assert project_graph.list_edges() == ["plan has_task task", "task depends_on task", "task supports_goal goal"]
    assert Edge.objects.get(rel="has_task").src_id == plan.pk
    assert "Ignored connections/1/title: connections/1/id was also sent." in outcome.warnings


def test_create_refuses_unknown_and_ambiguous_titles(project: Project) -> None:
    rows = [project_graph.create_row("plan", project, name="Phase") for _ in range(2)]
    project_graph.create_row("goal", ProjectFactory(), name="Elsewhere")

    with pytest.raises(InvalidArgs) as refused:
        create(
            project,
            parents=[{"kind": "plan", "title": "Phase"}, {"kind": "goal", "title": "Elsewhere"}],
            connections=[{"kind": "task"}],
        )

    errors = {error.path: error for error in refused.value.field_errors}
    assert {path: error.code for path, error in errors.items()} == {
        "/parents/0/title": "ambiguous_title",
        "/parents/1/title": "no_such_title",
        "/connections/0/id": "required",
    }
    assert {each["id"] for each in errors["/parents/0/title"].expected} == {str(row.pk) for row in rows}
    assert not Task.objects.exists()


def test_create_reports_all_errors_together(project: Project) -> None:
    wrong = {"due_at": "0000-01-01T00:00:00Z", "parent": {"kind": "document", "id": str(uuid.uuid4())}}

    assert [path for path, _ in list_field_errors(lambda: create(project, **wrong))] == ["/due_at", "/parent/kind"]
    assert not Task.objects.exists()


def update(task: Task, **sent: Any) -> Any:
    return call_handler("update_onto_task", task_id=str(task.pk), **sent)


def test_update_sets_changes_and_clears_a_link(project: Project) -> None:
    task, goal, other = (project_graph.create_row(kind, project) for kind in ("task", "goal", "goal"))

    first = update(task, goal_id=str(goal.pk))
    assert first.result["message"] == f"Changed “{task.title}”: goal_id."
    assert [each["dst_id"] for each in first.result["edges"]] == [str(goal.pk)]
    assert Task.objects.get().updated_at == AT

    update(task, goal_id=str(other.pk), title="New")
    assert [edge.dst_id for edge in Edge.objects.filter(deleted_at=None)] == [other.pk]

    cleared = update(task, goal_id=None)
    assert (cleared.result["message"], project_graph.list_edges()) == ("Changed “New”: goal_id.", [])
    assert "edges" not in cleared.result
    assert {edge.deleted_at for edge in Edge.objects.all()} == {AT}


def test_update_with_the_same_link_changes_nothing(project: Project) -> None:
    task, goal = project_graph.create_row("task", project), project_graph.create_row("goal", project)
    edge = project_graph.create_edge(task, "supports_goal", goal)

    for same in ({"goal_id": str(goal.pk)}, {"supporting_milestone_id": None}):
        assert update(task, **same).warnings == ("unchanged",)

    assert [each.pk for each in Edge.objects.filter(deleted_at=None)] == [edge.pk]
    assert Task.objects.get().updated_at == MADE_AT


def test_update_keeps_other_edges(project: Project) -> None:
    task, goal, plan = (project_graph.create_row(kind, project) for kind in ("task", "goal", "plan"))
    project_graph.create_edge(task, "supports_goal", goal)
    project_graph.create_edge(goal, "has_task", task)
    project_graph.create_edge(plan, "has_task", task)
    project_graph.create_edge(project_graph.create_row("task", project), "supports_goal", goal)

    with pytest.raises(NotFound, match="No goal of this project that you can see has this goal_id"):
        update(task, goal_id=str(project_graph.create_row("goal", ProjectFactory()).pk))
    update(task, goal_id=None)

    assert project_graph.list_edges() == ["goal has_task task", "plan has_task task", "task supports_goal goal"]
