"""Ops of the workspace called through the gateway, as models call them, with the shipped catalog."""

from statistics import median

import pytest

from registry.catalog import builder
from registry.files import loader
from registry.help import token_counts
from tests.support.clients.api import Api
from tests.support.loops import for_each
from workspace.demo import DEMO_DOCUMENT_ID, DEMO_PROJECT_ID
from workspace.entity_types import ENTITY_TYPE_BY_NAME, EntityType
from workspace.models import Document

SHIPPED = builder.build_catalog("unit", loader.read_shipped_catalog())

# How the copy describes the default order of each list.
ORDER_PHRASES = {
    "updated": ("most recently updated first", "newest update first"),
    "created_at": ("newest first",),
    "due_at": ("earliest due first",),
}


def test_help_stays_within_its_budget() -> None:
    short, full = zip(*(token_counts.count_catalog_tokens(SHIPPED)[path] for path in SHIPPED.ops), strict=True)

    assert (median(short) <= 180, median(full) <= 450) == (True, True)
    # One call creates a whole project: its help names the fields of every kind of row.
    *shorter, of_project = sorted(short)
    assert (max(shorter) <= 265, of_project <= 350) == (True, True)
    # Create and update ops name each field of a row; models read their help rarely, and that of lists often.
    *shorter, of_project = sorted(full)
    assert (max(shorter) <= 860, of_project <= 1_000) == (True, True)
    reads = [token_counts.count_catalog_tokens(SHIPPED)[path] for path, op in SHIPPED.ops.items() if not op.is_write]
    *shorter, of_tasks = sorted(full for _, full in reads)  # the list of tasks has filters and orders for dates, too
    assert (max(shorter) <= 530, of_tasks <= 650) == (True, True)


@for_each("action", ["list", "search"])
@for_each("kind", ENTITY_TYPE_BY_NAME.values())
def test_copy_of_a_list_names_only_its_own_order(kind: EntityType, action: str) -> None:
    op = SHIPPED.ops[kind.get_op_path(action)]
    copy = f"{op.summary} {op.description}".casefold()

    results = {name for name, words in ORDER_PHRASES.items() if any(each in copy for each in words)}

    assert results == {kind.get_order(None).name}


@for_each("kind", ENTITY_TYPE_BY_NAME.values())
def test_update_schema_accepts_null_for_every_nullable_column(kind: EntityType) -> None:
    arguments = SHIPPED.ops[kind.get_op_path("update")].schema["properties"]
    columns = {field.attname: field for field in kind.model._meta.concrete_fields}
    clearable = {
        name for name in arguments.keys() & columns.keys() if name in kind.nullable_texts or columns[name].null
    }

    assert {name for name in clearable if "null" not in arguments[name]["type"]} == set()


def test_nested_payload_creates_a_document_through_the_gateway(api: Api) -> None:
    sent = {"project_id": DEMO_PROJECT_ID, "document": {"title": " ", "bodyMarkdown": r"# A\n\nB"}}

    envelope = api.exec("onto.document.create", sent)

    row = Document.objects.get(pk=envelope["result"]["document"]["id"])
    assert (row.title, row.content) == ("Untitled Document", "# A\n\nB")
    assert envelope["meta"]["warnings"] == [
        "Read document.bodyMarkdown as content.",
        "Read document.title as title.",
        "Ignored the blank title.",
        "No title was sent, so the document was named Untitled Document.",
        r"Read \n in content as line breaks, because it had no others.",
    ]
    assert envelope["meta"]["operation"]["entity_id"] == str(row.pk)


@pytest.mark.parametrize("title", ["", " "])
def test_first_document_without_a_title_is_created_untitled(api: Api, title: str) -> None:
    project = {"name": "New", "type_key": "project.technical.app"}
    document = {"temp_id": "d", "kind": "document", "title": title}

    envelope = api.exec("onto.project.create", {"project": project, "entities": [document]})

    assert envelope["meta"]["warnings"] == [
        "entities/0: The title was blank, so the document was named Untitled Document."
    ]
    assert Document.objects.filter(project_id=envelope["result"]["project_id"], title="Untitled Document").count() == 1


def test_blank_content_of_an_update_changes_nothing(api: Api) -> None:
    envelope = api.exec("onto.document.update", {"document_id": DEMO_DOCUMENT_ID, "content": " "})

    assert [error["code"] for error in envelope["error"]["details"]["field_errors"]] == ["no_change"]
    assert Document.objects.get(pk=DEMO_DOCUMENT_ID).content.startswith("# Tone guide")


def test_search_all_is_not_an_operation_on_an_entity(api: Api) -> None:
    envelope = api.exec("search_ontology", {"q": "pricing", "limit": 2})

    assert (envelope["op"], len(envelope["result"]["results"])) == ("onto.search", 2)
    assert "operation" not in envelope["meta"]
    assert {row["type"] for row in envelope["result"]["results"]} == {"task", "document"}


@pytest.mark.parametrize(
    ("op", "sent", "stored", "warnings"),
    [
        (
            "onto.goal.create",
            {"title": "Keep", "dueDate": "2026-05-31T22:00:00-07:00", "state_key": "started", "priority": "high"},
            {"name": "Keep", "target_date": "2026-05-31", "state_key": "active", "priority": 2},
            [
                "Read title as name.",
                "Read dueDate as target_date.",
                "Read priority as 2.",
                "Read state_key as active.",
                "Read target_date as 2026-05-31.",
            ],
        ),
        (
            "onto.milestone.create",
            {"name": "Live", "deadline": "2026-05-04T08:00:00Z", "state_key": "Deferred"},
            {"title": "Live", "due_at": "2026-05-04T08:00:00Z", "state_key": "pending"},
            ["Read name as title.", "Read deadline as due_at.", "Read state_key as pending."],
        ),
    ],
)
def test_interpreted_values_are_stored_with_a_warning(
    api: Api, op: str, sent: dict[str, object], stored: dict[str, object], warnings: list[str]
) -> None:
    envelope = api.exec(op, {"project_id": DEMO_PROJECT_ID, **sent})

    row = envelope["result"][op.split(".")[1]]
    assert {name: row[name] for name in stored} == stored
    assert envelope["meta"]["warnings"] == warnings
    assert envelope["meta"]["operation"]["entity_id"] == row["id"]
