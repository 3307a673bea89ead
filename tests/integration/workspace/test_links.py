"""Links between rows through the API: create, list, remove."""

from typing import Any

import pytest

from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Edge


@pytest.fixture
def rows(api: Api) -> dict[str, str]:
    """Create a task and a document in the demo project, and return their ids by kind."""
    ids = {}
    for kind in ("task", "document"):
        response = api.exec(f"onto.{kind}.create", {"project_id": DEMO_PROJECT_ID, "title": f"New {kind}"})
        ids[kind] = response["result"][kind]["id"]
    return ids


def link_rows(api: Api, rows: dict[str, str], **more: Any) -> dict[str, Any]:
    ends = {"src_kind": "document", "src_id": rows["document"], "dst_kind": "task", "dst_id": rows["task"]}
    return api.exec("onto.edge.link", ends | {"rel": "has_document"} | more)


def test_link_is_created_listed_from_both_ends_and_removed(api: Api, rows: dict[str, str]) -> None:
    linked = link_rows(api, rows)
    edge_id = linked["result"]["edge"]["id"]
    assert linked["meta"]["operation"] == {
        "entity": "edge",
        "action": "link",
        "entity_id": edge_id,
        "entity_name": "task task_has_document document",
    }
    assert linked["meta"]["warnings"] == ["Read rel as task task_has_document document."]

    for kind, other in (("task", "document"), ("document", "task")):
        ends = {"entity_kind": kind, "entity_id": rows[kind]}
        [row] = api.exec("onto.entity.links.get", ends)["result"]["linked_entities"][f"{other}s"]
        assert (row["id"], row["edge_id"], row["title"]) == (rows[other], edge_id, f"New {other}")
    task_documents = api.exec("onto.task.docs.list", {"task_id": rows["task"]})["result"]
    assert [each["document"]["id"] for each in task_documents["documents"]] == [rows["document"]]

    assert api.exec("onto.edge.unlink", {"edge_id": edge_id})["ok"] is True
    assert api.exec("onto.entity.relationships.get", {"entity_id": rows["task"]})["result"]["total"] == 0
    assert api.exec("onto.edge.unlink", {"edge_id": edge_id})["error"]["code"] == "NOT_FOUND"


@for_each(
    "kinds", [{}, {"src_kind": "goal", "dst_kind": "task"}, {"src_kind": "risk", "dst_kind": "milestone"}], undone=True
)
def test_kinds_are_found_by_the_ids(api: Api, rows: dict[str, str], kinds: dict[str, str]) -> None:
    ids = {"src_id": rows["document"], "dst_id": rows["task"]}

    refused = api.exec("onto.edge.link", ids | {"rel": "references"} | kinds)

    assert refused["error"]["code"] == "VALIDATION_ERROR"
    call = refused["error"]["details"]["retry_with"]
    assert (call["args"]["src_kind"], call["args"]["dst_kind"]) == ("document", "task")
    assert api.exec(call["op"], call["args"])["ok"] is True


@for_each("op", ["onto.entity.links.get", "onto.entity.history"])
@for_each("kind", [{}, {"entity_kind": "goal"}])
def test_kind_of_one_row_is_found_by_its_id(api: Api, rows: dict[str, str], op: str, kind: dict[str, str]) -> None:
    refused = api.exec(op, {"entity_id": rows["task"]} | kind)

    call = refused["error"]["details"]["retry_with"]
    assert call["args"]["entity_kind"] == "task"
    assert api.exec(call["op"], call["args"])["ok"] is True


@for_each("kind", ["metric", "source", "event"])
@for_each("argument", ["src_kind", "dst_kind"])
def test_unsupported_kind_is_refused_with_the_supported_ones(
    api: Api, rows: dict[str, str], argument: str, kind: str
) -> None:
    response = link_rows(api, rows, **{argument: kind})

    [error] = response["error"]["details"]["field_errors"]
    assert (response["error"]["code"], error["path"], error["code"]) == ("VALIDATION_ERROR", f"/{argument}", "enum")
    assert "project, task, document, goal, plan, milestone, risk, requirement" in error["message"]
    assert not Edge.objects.filter(src_id=rows["document"]).exists()
