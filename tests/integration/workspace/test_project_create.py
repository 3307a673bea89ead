"""Creating a project with its entities and relationships in one call."""

from typing import Any

from analytics.events.models import OperationEvent
from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.models import Project

PROJECT = {"name": "Spring launch", "type_key": "project.business.product_launch"}
GOAL = {"temp_id": "g1", "kind": "goal", "name": "Sign-ups"}
TASK = {"temp_id": "t1", "kind": "task", "title": "Draft the text"}
PAIR = [{"temp_id": "g1", "kind": "goal"}, {"temp_id": "t1", "kind": "task"}]


def create_project(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec("onto.project.create", {"project": PROJECT} | args)


def get_field_errors(response: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error["path"], error["code"]) for error in response["error"]["details"]["field_errors"]]


def test_help_shows_the_skeleton_of_the_call(api: Api) -> None:
    usage = api.help("onto.project.create", format="full")["usage"]

    assert usage == {
        "op": "onto.project.create",
        "args": {"project": {"name": "<name>", "type_key": "<type_key>"}, "entities": [], "relationships": []},
    }


def test_project_is_created_with_its_rows_and_becomes_the_context(api: Api) -> None:
    response = create_project(api, entities=[GOAL, TASK], relationships=[PAIR], meta={"model": "some"})

    result = response["result"]
    assert set(result) == {"project", "project_id", "counts", "created", "message", "context_shift"}
    [created] = result["created"]["tasks"]
    assert result["context_shift"]["entity_id"] == result["project_id"] == response["meta"]["operation"]["entity_id"]
    edges = api.exec("onto.entity.links.get", {"entity_kind": "project", "entity_id": result["project_id"]})
    [overview] = edges["result"]["linked_entities"]["documents"]
    assert overview["title"] == "Spring launch: overview"
    [task] = api.exec("onto.task.list", {"project_id": result["project_id"]})["result"]["tasks"]
    assert created == {"id": task["id"], "title": task["title"]}
    [link] = api.exec("onto.entity.relationships.get", {"entity_id": task["id"]})["result"]["relationships"]
    assert (link["src_kind"], link["rel"], link["props"]) == ("goal", "has_task", {"is_primary": True})


def test_tasks_are_listed_in_the_order_in_which_they_were_sent(api: Api) -> None:
    titles = [f"Step {number}" for number in range(12)]
    tasks = [{"temp_id": f"t{number}", "kind": "task", "title": title} for number, title in enumerate(titles)]
    pairs = [[{"temp_id": f"t{number}", "kind": "task"} for number in (one, one + 1)] for one in range(11)]

    id = create_project(api, entities=tasks, relationships=pairs)["result"]["project_id"]

    for order in ("updated", "created_at", "priority"):
        rows = api.exec("onto.task.list", {"project_id": id, "sort_by": order})["result"]["tasks"]
        assert [row["title"] for row in rows] == titles


@for_each(
    "kind, advice",
    [
        ("metric", "There are no metrics here"),
        ("source", "There are no sources here"),
        ("event", "Events are not entities"),
        ("project", "The project is not an entity"),
    ],
)
def test_unsupported_entity_kind_is_refused_with_advice(api: Api, kind: str, advice: str) -> None:
    response = create_project(api, entities=[{"temp_id": "x", "kind": kind}])

    [error] = response["error"]["details"]["field_errors"]
    assert (error["path"], error["code"]) == ("/entities/0/kind", "enum")
    assert error["message"].startswith(f"kind: {advice}")
    assert "retry_with" not in response["error"]["details"]


@for_each(
    "relationships, paths",
    [
        ([PAIR[:1]], ["/relationships/0"]),
        ([{"from": PAIR[0]}], ["/relationships/0/to"]),
        (["g1"], ["/relationships/0"]),
        ([["g1", "t1"]], ["/relationships/0/0", "/relationships/0/1"]),
        ([{"from": PAIR[0], "to": PAIR[1], "why": "x"}], ["/relationships/0/why"]),
        ([PAIR] * 501, ["/relationships"]),
    ],
)
def test_invalid_relationship_is_a_field_error_with_its_path(
    api: Api, relationships: list[Any], paths: list[str]
) -> None:
    response = create_project(api, entities=[GOAL, TASK], relationships=relationships)

    assert sorted(path for path, _ in get_field_errors(response)) == paths


def test_clarifications_create_nothing(api: Api) -> None:
    before = Project.objects.count()

    response = create_project(api, clarifications=[{"key": "when", "question": "By when?"}])

    assert response["ok"] is True
    assert response["result"]["clarifications"] == [{"key": "when", "question": "By when?", "required": True}]
    assert "context_shift" not in response["result"]
    assert Project.objects.count() == before
    assert response["meta"]["operation"] == {"entity": "project", "action": "clarify"}  # no creation
    event = OperationEvent.objects.get()
    assert (event.action, event.entity_id, event.unchanged) == ("clarify", "", True)
