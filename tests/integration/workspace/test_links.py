"""Links between rows through the API: create, list, remove."""

import pytest

from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID


@pytest.fixture
def rows(api: Api) -> dict[str, str]:
    """Create a task and a document in the demo project, and return their ids by kind."""
    ids = {}
    for kind in ("task", "document"):
        response = api.exec(f"onto.{kind}.create", {"project_id": DEMO_PROJECT_ID, "title": f"New {kind}"})
        ids[kind] = response["result"][kind]["id"]
    return ids


def test_link_is_created_listed_from_both_ends_and_removed(api: Api, rows: dict[str, str]) -> None:
    ends = {"src_kind": "document", "src_id": rows["document"], "dst_kind": "task", "dst_id": rows["task"]}
    refused = api.exec("onto.edge.link", ends | {"rel": "has_document", "src_kind": "metric"})
    [error] = refused["error"]["details"]["field_errors"]
    assert (error["path"], error["code"]) == ("/src_kind", "enum")
    assert error["message"].startswith("src_kind: There are no metrics here; write what is measured into")

    linked = api.exec("onto.edge.link", ends | {"rel": "has_document"})
    edge_id, name = linked["result"]["edge"]["id"], "task task_has_document document"
    operation = {"entity": "edge", "action": "link", "entity_id": edge_id, "entity_name": name}
    assert linked["meta"]["operation"] == operation
    assert linked["meta"]["warnings"] == [f"Read rel as {name}."]

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
