from datetime import timedelta
from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from core.handler_contract import NotFound
from tests.support.loops import for_each
from tests.support.rows import project_graph
from tests.support.rows.factories import MADE_AT, ProjectFactory
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.models import Edge, EdgeKind, Project


def get_relationships(row: Any, **args: Any) -> dict[str, Any]:
    result: dict[str, Any] = call_handler("get_entity_relationships", entity_id=str(row.pk), **args).result
    return result


def get_links(row: Any, **args: Any) -> dict[str, Any]:
    kind = row._meta.model_name
    result: dict[str, Any] = call_handler("get_linked_entities", entity_kind=kind, entity_id=str(row.pk), **args).result
    return result


def test_relationships_return_edges_by_direction(project: Project) -> None:
    task, plan, goal = (project_graph.create_row(kind, project) for kind in ("task", "plan", "goal"))
    incoming = project_graph.create_edge(plan, "has_task", task, props={"is_primary": True})
    outgoing = project_graph.create_edge(task, "supports_goal", goal)

    result = get_relationships(task)

    expected = [(str(outgoing.pk), "outgoing"), (str(incoming.pk), "incoming")]
    assert [(each["id"], each["direction"]) for each in result["relationships"]] == expected
    assert result["relationships"][1] == {
        "id": str(incoming.pk),
        "src_kind": "plan",
        "src_id": str(plan.pk),
        "rel": "has_task",
        "dst_kind": "task",
        "dst_id": str(task.pk),
        "props": {"is_primary": True},
        "created_at": "2026-03-01T09:00:00Z",
        "direction": "incoming",
    }
    assert (result["total"], result["has_more"]) == (2, False)
    assert result["message"] == "2 of 2 edges of this task. onto.entity.links.get returns the linked rows."
    for direction, edge in (("outgoing", outgoing), ("incoming", incoming)):
        filtered = get_relationships(task, direction=direction)
        assert ([each["id"] for each in filtered["relationships"]], filtered["total"]) == ([str(edge.pk)], 1)


@for_each("kind", EdgeKind.values, undone=True)
def test_every_kind_has_relationships_and_links(project: Project, kind: str) -> None:
    row, document = project_graph.create_row(kind, project), project_graph.create_row("document", project)
    project_graph.create_edge(row, "references", document)

    assert get_relationships(row)["total"] == get_relationships(document)["total"] == 1
    assert get_links(row)["counts"] == {"documents": 1}
    assert get_links(document)["total"] == 1


def test_relationships_return_the_oldest_fifty_per_direction(project: Project) -> None:
    goal = project_graph.create_row("goal", project)
    edges = [
        project_graph.create_edge(
            project_graph.create_row("task", project),
            "supports_goal",
            goal,
            created_at=MADE_AT + timedelta(minutes=number),
        )
        for number in range(51)
    ]

    result = get_relationships(goal)

    assert [each["id"] for each in result["relationships"]] == [str(edge.pk) for edge in edges[:50]]
    assert (result["total"], result["has_more"]) == (51, True)
    assert get_links(goal)["has_more"] is True
    assert (len(get_links(goal)["linked_entities"]["tasks"]), get_links(goal)["counts"]) == (50, {"tasks": 51})


def test_links_are_grouped_by_kind(project: Project) -> None:
    task, plan, goal = (project_graph.create_row(kind, project) for kind in ("task", "plan", "goal"))
    requirement = project_graph.create_row("requirement", project, text="Loads in a second")
    held = project_graph.create_edge(plan, "has_task", task)
    supports = project_graph.create_edge(task, "supports_goal", goal)
    references = project_graph.create_edge(task, "references", requirement)

    def show(row: Any, edge: Edge, direction: str, **more: Any) -> dict[str, Any]:
        shown = {"id": str(row.pk), "kind": row._meta.model_name, "edge_id": str(edge.pk)}
        return shown | {"rel": edge.rel, "direction": direction} | more

    assert get_links(task) == {
        "linked_entities": {
            "goals": [show(goal, supports, "outgoing", name=goal.name, state_key="draft")],
            "plans": [show(plan, held, "incoming", name=plan.name, state_key="draft")],
            "requirements": [show(requirement, references, "outgoing", text="Loads in a second")],
        },
        "counts": {"goals": 1, "plans": 1, "requirements": 1},
        "total": 3,
        "has_more": False,
        "message": "3 of 3 links of this task: 1 goal, 1 plan, 1 requirement. Complete rows: onto.goal.get, "
        "onto.plan.get, onto.requirement.get.",
    }


def test_links_of_a_kind_list_unfinished_rows_first_then_newest(project: Project) -> None:
    goal = project_graph.create_row("goal", project)
    rows = [
        project_graph.create_row("task", project, state_key=state, updated_at=MADE_AT + timedelta(hours=hours), **stamp)
        for state, hours, stamp in [("done", 9, {"completed_at": MADE_AT}), ("todo", 1, {}), ("blocked", 2, {})]
    ]
    for row in (*rows, project_graph.create_row("plan", project)):
        project_graph.create_edge(row, "supports_goal", goal)

    result = get_links(goal, filter_kind="task")

    assert [each["state_key"] for each in result["linked_entities"]["tasks"]] == ["blocked", "todo", "done"]
    assert (result["counts"], result["total"]) == ({"tasks": 3}, 3)
    assert get_links(goal, filter_kind="all")["counts"] == {"tasks": 3, "plans": 1}
    assert get_links(goal, filter_kind="risk")["message"] == "No risk is linked to this goal."


def test_row_linked_by_two_edges_is_listed_twice(project: Project) -> None:
    task, other = project_graph.create_row("task", project), project_graph.create_row("task", project)
    project_graph.create_edge(task, "depends_on", other)
    project_graph.create_edge(other, "blocks", task)

    rows = get_links(task)["linked_entities"]["tasks"]

    assert {(row["rel"], row["direction"]) for row in rows} == {("depends_on", "outgoing"), ("blocks", "incoming")}


def test_links_say_when_nothing_is_linked(project: Project) -> None:
    task = project_graph.create_row("task", project)

    message = "Nothing is linked to this task; use onto.edge.link to link two rows."
    nothing = {"total": 0, "has_more": False, "message": message}
    assert get_links(task) == nothing | {"linked_entities": {}, "counts": {}}
    assert get_relationships(task) == nothing | {"relationships": []}


def test_row_with_a_wrong_kind_names_the_right_one(project: Project) -> None:
    task = project_graph.create_row("task", project)
    foreign = project_graph.create_row("task", ProjectFactory(created_by="someone else"))

    error = get_field_error(lambda: call_handler("get_linked_entities", entity_kind="plan", entity_id=str(task.pk)))
    with pytest.raises(NotFound, match="No plan that you can see has this entity_id"):
        call_handler("get_linked_entities", entity_kind="plan", entity_id=str(foreign.pk))

    assert (error.path, error.send) == ("/entity_kind", {"entity_kind": "task"})


def test_links_cost_one_query_per_kind_and_two_more(
    project: Project, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    goal = project_graph.create_row("goal", project)
    for _ in range(30):
        for kind in ("task", "plan", "document"):
            project_graph.create_edge(project_graph.create_row(kind, project), "supports_goal", goal)
    assert Edge.objects.count() == 90

    with django_assert_num_queries(5):
        assert get_links(goal)["total"] == 90
    with django_assert_num_queries(4):  # there are more incoming ones than shown, so they are counted
        assert get_relationships(goal)["total"] == 90
