"""Documents in a tree, from the caller's side: made, found, moved, read by their sections, deleted."""

from typing import Any

import pytest

from tests.support.api import Api
from workspace.demo import DEMO_PROJECT_ID
from workspace.demo.rows import get_demo_id

GUIDE, RUNBOOK, WORDS = (get_demo_id("document", number) for number in (1, 3, 7))


def titles(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {node["title"]: titles(node.get("children", [])) for node in nodes}


def tree(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec("onto.document.tree.get", {"project_id": DEMO_PROJECT_ID, **args})["result"]


def create(api: Api, **args: Any) -> dict[str, Any]:
    return api.exec("onto.document.create", {"project_id": DEMO_PROJECT_ID, "title": "New", **args})


def field_error(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["error"]["code"] == "VALIDATION_ERROR", answer
    [error] = answer["error"]["details"]["field_errors"]
    return error


def test_a_document_is_made_moved_and_deleted_in_the_tree(api: Api) -> None:
    made = create(api, parent_title="tone guide", position=0)["result"]["document"]
    assert (made["parent_id"], made["position"]) == (GUIDE, 0)

    before = tree(api)["structure"]
    moved = api.exec(
        "onto.document.tree.move",
        {"document_id": GUIDE, "new_parent_id": RUNBOOK, "new_position": 99, "expected_version": before["version"]},
    )
    assert moved["result"]["document"] == {
        "id": GUIDE,
        "title": "Tone guide",
        "parent_id": RUNBOOK,
        "position": 1,
    }
    assert moved["meta"]["operation"] == {
        "entity": "document",
        "action": "move",
        "entity_id": GUIDE,
        "entity_name": "Tone guide",
    }
    path = api.exec("onto.document.path.get", {"document_id": made["id"], "project_id": DEMO_PROJECT_ID})["result"]
    assert [each["title"] for each in path["path"]] == ["Launch day runbook", "Tone guide", "New"]

    stale = api.exec("onto.document.tree.move", {"document_id": WORDS, "expected_version": before["version"]})
    assert (stale["error"]["code"], stale["error"]["details"]["reason"]) == ("CONFLICT", "stale_version")

    deleted = api.exec("onto.document.delete", {"document_id": RUNBOOK})["result"]
    assert deleted["deleted"] == 7
    assert list(titles(tree(api)["structure"]["root"])) == ["Decisions of the weekly round"]


@pytest.mark.parametrize(
    "sent",
    [
        {"parent_id": GUIDE},
        {"parent_document_id": GUIDE},
        {"parentDocumentId": GUIDE},
        {"parentId": f" {GUIDE} "},
        {"parentTitle": "Tone guide"},
        {"document": {"title": "New", "parent_id": GUIDE}},
        {"document": {"parentDocumentId": GUIDE, "position": 2}},
        {"parent_id": " ", "document": {"parent_id": GUIDE}},
    ],
)
def test_create_reads_a_parent_in_every_spelling(api: Api, sent: dict[str, Any]) -> None:
    document = create(api, **sent)["result"]["document"]

    assert (document["parent_id"], document["position"]) == (GUIDE, 2)


def test_a_confirmed_delete_says_first_how_many_documents_go(live_catalog: Any, make_key: Any) -> None:
    api = Api(make_key(confirms=True))

    asked = api.exec("onto.document.delete", {"document_id": GUIDE})["error"]
    kept = api.exec("onto.document.delete", {"document_id": GUIDE, "children": "promote"})["error"]
    rehearsed = api.exec("onto.document.delete", {"document_id": GUIDE}, dry_run=True)["result"]

    would = asked["details"]["confirmation"]["would"]
    assert (would["deleted"], rehearsed["deleted"]) == (4, 4)
    assert would["message"] == ("Deleted the document and the 3 documents below it; ops no longer find them.")
    assert kept["details"]["confirmation"]["would"]["deleted"] == 1
    assert tree(api)["structure"]["version"] == 0


def test_a_title_that_several_have_is_a_field_error_with_their_ids(api: Api) -> None:
    ids = {create(api, title="Twice")["result"]["document"]["id"] for _ in range(2)}

    for op, args, path in (
        ("onto.document.tree.move", {"document_id": WORDS, "new_parent_title": "Twice"}, "/new_parent_title"),
        ("onto.document.create", {"project_id": DEMO_PROJECT_ID, "parent_title": "Twice"}, "/parent_title"),
        (
            "onto.edge.link",
            {
                "src_kind": "document",
                "src_id": WORDS,
                "dst_kind": "document",
                "dst_title": "Twice",
                "rel": "references",
            },
            "/dst_title",
        ),
    ):
        error = field_error(api.exec(op, args))
        assert (error["path"], error["code"]) == (path, "ambiguous_title")
        assert {each["id"] for each in error["expected"]} == ids


def test_a_title_of_another_project_is_unknown(api: Api) -> None:
    error = field_error(api.exec("onto.document.tree.move", {"document_id": WORDS, "new_parent_title": "Measurements"}))

    assert error["code"] == "no_such_title"
    assert "Measurements" not in error["message"]


def test_a_document_goes_under_nothing_below_it(api: Api) -> None:
    error = field_error(api.exec("onto.document.tree.move", {"document_id": GUIDE, "new_parent_id": WORDS}))

    assert (error["path"], error["code"]) == ("/new_parent_id", "circle")


def test_a_long_document_is_read_by_its_headings(api: Api) -> None:
    outline = api.exec("onto.document_outline.get", {"document_id": RUNBOOK})
    assert outline["op"] == "onto.document.outline.get"
    anchor = outline["result"]["headings"][1]["anchor"]

    for named in ({"anchor": anchor}, {"section": "going BACK"}, {"index": 1}):
        section = api.exec("read_document_section", {"document_id": RUNBOOK, **named})["result"]["section"]
        assert section["content"].startswith("## Going back\n\nSwitch the DNS")


def test_a_dry_run_moves_nothing(api: Api) -> None:
    before = tree(api)

    answer = api.exec("onto.document.tree.move", {"document_id": WORDS}, dry_run=True)

    assert answer["result"]["structure"]["version"] == 1
    assert tree(api) == before
