"""Documents and search as a chat service has them: through the gateway, from the shipped copy."""

import pytest

from registry import catalogs, loader, releases
from tests.conftest import Api
from workspace.demo import DEMO_DOCUMENT_ID, DEMO_PROJECT_ID
from workspace.models import Document

SHIPPED = catalogs.build("unit", loader.read())


def test_help_stays_within_its_budget() -> None:
    for path, (short, full) in releases.token_counts(SHIPPED).items():
        if path.startswith("onto.document.") or path == "onto.search":
            assert short <= 180, path
            assert full <= 450, path


def test_nested_payload_is_created_through_the_gateway(api: Api) -> None:
    sent = {"project_id": DEMO_PROJECT_ID, "document": {"title": " ", "bodyMarkdown": r"# A\n\nB"}}

    answer = api.exec("onto.document.create", sent)

    row = Document.objects.get(pk=answer["result"]["document"]["id"])
    assert (row.title, row.content) == ("Untitled Document", "# A\n\nB")
    assert answer["meta"]["warnings"] == [
        "Read document.bodyMarkdown as content.",
        "Read document.title as title.",
        "The title was blank, so the document is called Untitled Document.",
        r"Read \n in content as line breaks, for it had no other.",
    ]
    assert answer["meta"]["operation"]["entity_id"] == str(row.pk)


@pytest.mark.parametrize(
    ("args", "paths"),
    [
        ({"document": {"title": "A", "tags": []}}, ["/tags"]),
        ({"title": "A", "content": "x" * 200_001}, ["/content"]),
        ({"title": "A", "type_key": "note"}, ["/type_key"]),
        ({"content": "x"}, ["/title"]),
        ({"title": "A", "state_key": "done"}, ["/state_key"]),
    ],
)
def test_wrong_documents_are_refused_at_their_pointer(api: Api, args: dict[str, object], paths: list[str]) -> None:
    answer = api.exec("onto.document.create", {"project_id": DEMO_PROJECT_ID, **args})

    assert [error["path"] for error in answer["error"]["details"]["field_errors"]] == paths


def test_blank_content_of_an_update_changes_nothing(api: Api) -> None:
    answer = api.exec("onto.document.update", {"document_id": DEMO_DOCUMENT_ID, "content": " "})

    assert [error["code"] for error in answer["error"]["details"]["field_errors"]] == ["no_change"]
    assert Document.objects.get(pk=DEMO_DOCUMENT_ID).content.startswith("# Tone guide")


def test_search_over_kinds_is_no_operation_on_an_entity(api: Api) -> None:
    answer = api.exec("search_ontology", {"q": "pricing", "limit": 2})

    assert (answer["op"], len(answer["result"]["results"])) == ("onto.search", 2)
    assert "operation" not in answer["meta"]
    assert {row["type"] for row in answer["result"]["results"]} == {"task", "document"}


def test_single_type_is_answered_with_the_call_that_was_meant(api: Api) -> None:
    answer = api.exec("onto.search", {"query": "pricing", "types": "document"})

    assert answer["error"]["details"]["retry_with"]["args"] == {"query": "pricing", "types": ["document"]}
