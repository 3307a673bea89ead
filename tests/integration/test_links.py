"""Links between rows, from the caller's side: made, seen, taken away."""

from typing import Any

import pytest

from tests.support.api import Api
from workspace.demo import DEMO_COLLEAGUE, DEMO_PROJECT_ID
from workspace.models import Edge


@pytest.fixture
def rows(api: Api) -> dict[str, str]:
    """Make a task and a document in the demo's newest project, and return their ids."""
    made = {}
    for kind in ("task", "document"):
        answer = api.exec(f"onto.{kind}.create", {"project_id": DEMO_PROJECT_ID, "title": f"New {kind}"})
        made[kind] = answer["result"][kind]["id"]
    return made


def link(api: Api, rows: dict[str, str], **more: Any) -> dict[str, Any]:
    ends = {"src_kind": "document", "src_id": rows["document"], "dst_kind": "task", "dst_id": rows["task"]}
    return api.exec("onto.edge.link", ends | {"rel": "has_document"} | more)


def test_a_link_is_made_seen_from_both_ends_and_taken_away(api: Api, rows: dict[str, str]) -> None:
    made = link(api, rows)
    edge_id = made["result"]["edge"]["id"]
    assert made["meta"]["operation"] == {
        "entity": "edge",
        "action": "link",
        "entity_id": edge_id,
        "entity_name": "task task_has_document document",
    }
    assert made["meta"]["warnings"] == ["Read rel as task task_has_document document."]

    for kind, other in (("task", "document"), ("document", "task")):
        ends = {"entity_kind": kind, "entity_id": rows[kind]}
        [row] = api.exec("onto.entity.links.get", ends)["result"]["linked_entities"][f"{other}s"]
        assert (row["id"], row["edge_id"], row["title"]) == (rows[other], edge_id, f"New {other}")
    listed = api.exec("onto.task.docs.list", {"task_id": rows["task"]})["result"]
    assert [each["document"]["id"] for each in listed["documents"]] == [rows["document"]]

    assert api.exec("onto.edge.unlink", {"edge_id": edge_id})["ok"] is True
    assert api.exec("onto.entity.relationships.get", {"entity_id": rows["task"]})["result"]["total"] == 0
    assert api.exec("onto.edge.unlink", {"edge_id": edge_id})["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("kind", ["metric", "source", "event"])
@pytest.mark.parametrize("argument", ["src_kind", "dst_kind"])
def test_kinds_that_are_not_kept_are_refused_with_a_sentence(
    api: Api, rows: dict[str, str], argument: str, kind: str
) -> None:
    answer = link(api, rows, **{argument: kind})

    [error] = answer["error"]["details"]["field_errors"]
    assert (answer["error"]["code"], error["path"], error["code"]) == ("VALIDATION_ERROR", f"/{argument}", "enum")
    assert "project, task, document, goal, plan, milestone, risk, requirement" in error["message"]
    assert not Edge.objects.filter(src_id=rows["document"]).exists()


def test_a_dry_run_links_nothing(api: Api, rows: dict[str, str]) -> None:
    ends = {"src_kind": "task", "src_id": rows["task"], "dst_kind": "document", "dst_id": rows["document"]}

    answer = api.exec("onto.edge.link", ends | {"rel": "references"}, dry_run=True)

    assert (answer["ok"], answer["result"]["created"]) == (True, 1)
    assert not Edge.objects.filter(src_id=rows["task"]).exists()


def test_kinds_in_other_words_are_understood(api: Api, rows: dict[str, str]) -> None:
    answer = link(api, rows, src_kind="note", dst_kind="todo")

    assert answer["result"]["edge"]["rel"] == "task_has_document"
    assert "Read src_kind as document." in answer["meta"]["warnings"]


def test_whoever_may_only_read_sees_links_and_makes_none(api: Api, rows: dict[str, str], make_key: Any) -> None:
    edge_id = link(api, rows)["result"]["edge"]["id"]
    colleague = Api(make_key(), subject=DEMO_COLLEAGUE)

    seen = colleague.exec("onto.entity.relationships.get", {"entity_id": rows["task"]})
    refused = [link(colleague, rows, rel="references"), colleague.exec("onto.edge.unlink", {"edge_id": edge_id})]

    assert [each["id"] for each in seen["result"]["relationships"]] == [edge_id]
    assert [answer["error"]["code"] for answer in refused] == ["PERMISSION_DENIED"] * 2
