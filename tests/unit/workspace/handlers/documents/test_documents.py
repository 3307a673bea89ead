from typing import Any

import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory
from tests.support.values.handler_calls import call_handler
from workspace.models import Document, Project

NOW = "2026-03-02T12:30:00Z"  # calls.AT


@pytest.fixture
def document(project: Project) -> Document:
    document: Document = DocumentFactory(project=project, title="Old", description="text", content="# Old")
    return document


def create(project: Project, **sent: Any) -> Any:
    return call_handler("create_onto_document", project_id=str(project.pk), **{"title": "Brief"} | sent)


def update(document: Document, **sent: Any) -> Any:
    return call_handler("update_onto_document", document_id=str(document.pk), **sent)


def test_create_returns_the_stored_row_with_its_defaults(project: Project) -> None:
    outcome = create(project, fields=["*"])

    document = Document.objects.get()
    assert outcome.result == {
        "document": {
            "id": str(document.pk),
            "project_id": str(project.pk),
            "project_name": "Launch",
            **dict.fromkeys(("parent_id", "description", "content", "category", "ai_summary", "operation_count")),
            "position": 0,
            "title": "Brief",
            "type_key": "document.default",
            "state_key": "draft",
            "tags": [],
            "props": {},
            "created_by": "owner",
            "created_at": NOW,
            "updated_at": NOW,
        },
        "structure": {"version": 1},
        "message": "Created the document “Brief”.",
    }
    assert (outcome.entity_id, outcome.entity_name, outcome.warnings) == (str(document.pk), "Brief", ())


def test_notes_have_tags_which_rows_show_and_search_finds(project: Project) -> None:
    document = create(project, tags=["print", "press"]).result["document"]
    create(project, title="Other")

    [row] = call_handler("search_onto_documents", query="press").result["documents"]
    assert (row["id"], row["tags"]) == (document["id"], ["print", "press"])
    assert update(Document.objects.get(pk=row["id"]), tags=["final"]).result["document"]["tags"] == ["final"]
    assert update(Document.objects.get(pk=row["id"]), tags=None).result["document"]["tags"] == []


def test_create_stores_the_sent_fields_and_get_returns_them(project: Project) -> None:
    sent = {"description": "Why", "content": "# A\n\n" + "x" * 19_000 + "\n", "type_key": "document.report.weekly"}

    more = {"state_key": "ready", "props": {"a": {"b": 1}, "nothing": None}}

    row = create(project, **sent, **more, fields=["*"]).result["document"]

    assert row == call_handler("get_onto_document_details", document_id=row["id"]).result["document"]
    assert {name: row[name] for name in sent} == sent
    assert (row["state_key"], row["props"]) == ("ready", {"a": {"b": 1}})


@for_each(
    "sent, warning",
    [
        *(({"title": blank}, "The title was blank") for blank in ("", " ", "\n\t", "\u3000")),
        ({}, "No title was sent"),
        ({"title": None}, "No title was sent"),
    ],
    undone=True,
)
def test_document_without_a_title_is_untitled_with_a_warning(
    project: Project, sent: dict[str, str | None], warning: str
) -> None:
    outcome = call_handler("create_onto_document", project_id=str(project.pk), **sent)

    assert outcome.result["document"]["title"] == outcome.entity_name == Document.objects.get().title
    assert outcome.entity_name == "Untitled Document"
    assert outcome.warnings == (f"{warning}, so the document was named Untitled Document.",)


def test_escaped_line_breaks_are_read_as_line_breaks_with_a_warning(project: Project, document: Document) -> None:
    created = create(project, content=r"# A\n\n- b\n- c", fields=["content"])
    updated = update(document, content=r"# A\r\nb")

    assert created.result["document"]["content"] == "# A\n\n- b\n- c"
    assert Document.objects.get(pk=document.pk).content == "# A\nb"
    assert created.warnings == updated.warnings == (r"Read \n in content as line breaks, because it had no others.",)


def test_text_with_line_breaks_is_stored_as_sent(project: Project) -> None:
    content = "  Use `\\n`\r\n\u202eabc\u202c 🌱 {{ 7 * 7 }} <script>'; DROP TABLE--\n\n"

    outcome = create(project, content=content, fields=["content"])

    assert (outcome.result["document"]["content"], outcome.warnings) == (content, ())
    assert Document.objects.get().content == content
