"""The document tree through the API: create, find, move, read by section, delete."""

from typing import Any

from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_PROJECT_ID
from workspace.demo.rows import get_demo_id

GUIDE, RUNBOOK, WORDS = (get_demo_id("document", number) for number in (1, 3, 7))


def get_titles(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {node["title"]: get_titles(node.get("children", [])) for node in nodes}


def get_tree(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec("onto.document.tree.get", {"project_id": DEMO_PROJECT_ID, **args})["result"]


def create_document(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec("onto.document.create", {"project_id": DEMO_PROJECT_ID, "title": "New", **args})


def test_document_is_created_moved_and_deleted_in_the_tree(api: Api) -> None:
    document = create_document(api, parent_title="tone guide", position=0)["result"]["document"]
    assert (document["parent_id"], document["position"]) == (GUIDE, 0)

    before = get_tree(api)["structure"]
    place = {"new_parent_id": RUNBOOK, "new_position": 99, "expected_version": before["version"]}
    moved = api.exec("onto.document.tree.move", {"document_id": GUIDE, **place})
    assert moved["result"]["document"] == {"id": GUIDE, "title": "Tone guide", "parent_id": RUNBOOK, "position": 1}
    operation = {"entity": "document", "action": "move", "entity_id": GUIDE, "entity_name": "Tone guide"}
    assert moved["meta"]["operation"] == operation
    path = api.exec("onto.document.path.get", {"document_id": document["id"], "project_id": DEMO_PROJECT_ID})["result"]
    assert [each["title"] for each in path["path"]] == ["Launch day runbook", "Tone guide", "New"]
    section = api.exec("read_document_section", {"document_id": RUNBOOK, "section": "going BACK"})["result"]["section"]
    assert section["content"].startswith("## Going back\n\nSwitch the DNS")

    stale = api.exec("onto.document.tree.move", {"document_id": WORDS, "expected_version": before["version"]})
    assert (stale["error"]["code"], stale["error"]["details"]["reason"]) == ("CONFLICT", "stale_version")

    deleted = api.exec("onto.document.delete", {"document_id": RUNBOOK})["result"]
    assert deleted["deleted"] == 7
    assert list(get_titles(get_tree(api)["structure"]["root"])) == ["Decisions of the weekly round"]


@for_each(
    "parent_args",
    [
        {"parentDocumentId": GUIDE},
        {"parentTitle": "Tone guide"},
        {"document": {"parentDocumentId": GUIDE, "position": 2}},
        {"parent_id": " ", "document": {"parent_id": GUIDE}},
    ],
    undone=True,
)
def test_create_accepts_the_parent_in_every_spelling(api: Api, parent_args: dict[str, Any]) -> None:
    document = create_document(api, **parent_args)["result"]["document"]

    assert (document["parent_id"], document["position"]) == (GUIDE, 2)


def test_delete_confirmation_says_how_many_documents_it_deletes(live_catalog: Any, make_key: Any) -> None:
    api = Api(make_key(confirms=True))

    confirmation_error = api.exec("onto.document.delete", {"document_id": GUIDE})["error"]
    promote_error = api.exec("onto.document.delete", {"document_id": GUIDE, "children": "promote"})["error"]
    dry_run = api.exec("onto.document.delete", {"document_id": GUIDE}, dry_run=True)["result"]

    effect = confirmation_error["details"]["confirmation"]["would"]
    assert (effect["deleted"], dry_run["deleted"]) == (4, 4)
    assert effect["message"].startswith(
        "Deleted the document “Tone guide” and the 3 documents below it; ops no longer find them. Its link to the "
    )
    assert promote_error["details"]["confirmation"]["would"]["deleted"] == 1
    assert get_tree(api)["structure"]["version"] == 0
