"""A whole project in one call, from the caller's side."""

from typing import Any

import pytest

from tests.support.api import Api
from workspace.models import Edge, Project

PROJECT = {"name": "Spring launch", "type_key": "project.business.product_launch"}
GOAL = {"temp_id": "g1", "kind": "goal", "name": "Sign-ups"}
TASK = {"temp_id": "t1", "kind": "task", "title": "Draft the text"}
PAIR = [{"temp_id": "g1", "kind": "goal"}, {"temp_id": "t1", "kind": "task"}]


def create(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec("onto.project.create", {"project": PROJECT} | args)


def errors(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error["path"], error["code"]) for error in answer["error"]["details"]["field_errors"]]


def test_help_teaches_the_skeleton(api: Api) -> None:
    usage = api.help("onto.project.create", format="full")["usage"]

    assert usage == {
        "op": "onto.project.create",
        "args": {"project": {"name": "<name>", "type_key": "<type_key>"}, "entities": [], "relationships": []},
    }


def test_a_project_comes_with_its_rows_and_is_where_the_conversation_goes(api: Api) -> None:
    answer = create(api, entities=[GOAL, TASK], relationships=[PAIR], meta={"model": "some"})

    result = answer["result"]
    assert set(result) == {"project", "project_id", "counts", "message", "context_shift"}
    assert result["context_shift"]["entity_id"] == result["project_id"] == answer["meta"]["operation"]["entity_id"]
    edges = api.exec("onto.entity.links.get", {"entity_kind": "project", "entity_id": result["project_id"]})
    [overview] = edges["result"]["linked_entities"]["documents"]
    assert overview["title"] == "Spring launch: overview"
    [task] = api.exec("onto.task.list", {"project_id": result["project_id"]})["result"]["tasks"]
    [link] = api.exec("onto.entity.relationships.get", {"entity_id": task["id"]})["result"]["relationships"]
    assert (link["src_kind"], link["rel"], link["props"]) == ("goal", "has_task", {"is_primary": True})


def test_nothing_is_made_of_a_call_with_one_error(api: Api) -> None:
    before = (Project.objects.count(), Edge.objects.count())

    answer = create(api, entities=[GOAL, TASK | {"due_at": "next spring"}], relationships=[PAIR])

    assert errors(answer) == [("/entities/1/due_at", "impossible_time")]
    assert (Project.objects.count(), Edge.objects.count()) == before


@pytest.mark.parametrize("kind", ["metric", "source", "event", "project"])
def test_kinds_that_are_not_kept_are_refused_with_what_to_do(api: Api, kind: str) -> None:
    answer = create(api, entities=[{"temp_id": "x", "kind": kind}])

    [error] = answer["error"]["details"]["field_errors"]
    assert (error["path"], error["code"]) == ("/entities/0/kind", "enum")
    assert error["message"].startswith(f"kind: {'The project is' if kind == 'project' else kind.capitalize() + 's'}")
    assert "retry_with" not in answer["error"]["details"]


@pytest.mark.parametrize(
    ("related", "paths"),
    [
        ([PAIR[:1]], ["/relationships/0"]),
        ([{"from": PAIR[0]}], ["/relationships/0/to"]),
        (["g1"], ["/relationships/0"]),
        ([["g1", "t1"]], ["/relationships/0/0", "/relationships/0/1"]),
        ([{"from": PAIR[0], "to": PAIR[1], "intent": "loose", "why": "x"}], [
            "/relationships/0/intent",
            "/relationships/0/why",
        ]),
        ([PAIR] * 501, ["/relationships"]),
    ],
)  # fmt: skip
def test_what_is_no_relationship_is_refused_at_its_pointer(api: Api, related: list[Any], paths: list[str]) -> None:
    answer = create(api, entities=[GOAL, TASK], relationships=related)

    assert sorted(path for path, _ in errors(answer)) == paths


def test_questions_create_nothing(api: Api) -> None:
    before = Project.objects.count()

    answer = create(api, clarifications=[{"key": "when", "question": "By when?"}])

    assert answer["ok"] is True
    assert answer["result"]["clarifications"] == [{"key": "when", "question": "By when?", "required": True}]
    assert "context_shift" not in answer["result"]
    assert Project.objects.count() == before


def test_a_dry_run_tells_and_keeps_nothing(api: Api) -> None:
    before = (Project.objects.count(), Edge.objects.count())

    answer = api.exec(
        "onto.project.create",
        {"project": PROJECT, "entities": [GOAL, TASK], "relationships": [PAIR]},
        dry_run=True,
    )

    assert (answer["meta"]["dry_run"], answer["result"]["counts"]["edges"]) == (True, 2)
    assert (Project.objects.count(), Edge.objects.count()) == before
