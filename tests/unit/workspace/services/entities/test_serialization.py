from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, MilestoneFactory
from tests.support.values.handler_calls import AT
from workspace.entity_types import DOCUMENT, MILESTONE, PROJECT, TASK, EntityType
from workspace.models import Document, Project, Task
from workspace.services.entities import serialization


def abbreviated(row: Any, *, kind: EntityType = TASK, **texts: str) -> dict[str, Any]:
    """Return a list row whose query has read the beginnings of the texts."""
    for name in kind.texts:
        setattr(row, f"{name}_preview", texts.get(name, ""))
    if kind is not PROJECT:
        row.project_name = "Launch"
    return serialization.serialize_list_row(row, kind=kind, at=MADE_AT)


def task(**fields: Any) -> Task:
    return Task(id=UUID(int=1), project_id=UUID(int=2), title="Write", updated_at=MADE_AT, **fields)


def test_abbreviated_row_omits_empty_and_false_fields_and_has_json_values() -> None:
    shown = {
        "id": "00000000-0000-0000-0000-000000000001",
        "project_id": "00000000-0000-0000-0000-000000000002",
        "project_name": "Launch",
        "title": "Write",
        "state_key": "todo",
        "priority": 3,
    }

    assert abbreviated(task()) == shown
    recurring = task(recurrence="weekly", due_at=MADE_AT + timedelta(microseconds=5))
    assert abbreviated(recurring) == shown | {"is_recurring": True, "due_at": "2026-03-01T09:00:00Z"}


@for_each(
    "description, shown",
    [
        ("x" * 99, {"description": "x" * 99}),
        ("x" * 100, {"description": "x" * 100}),  # fits, so it is not cut
        ("x" * 101, {"description_preview": "x" * 100 + "…"}),
        ("ü" * 101, {"description_preview": "ü" * 100 + "…"}),  # characters, not bytes
        ("🌱" * 101, {"description_preview": "🌱" * 100 + "…"}),
        ("", {}),
    ],
)
def test_row_says_by_the_name_of_a_text_whether_it_is_whole(description: str, shown: dict[str, str]) -> None:
    row = abbreviated(task(), description=description, details="d")

    assert {name: text for name, text in row.items() if name.startswith(("description", "details"))} == shown


def test_row_of_a_project_has_no_text_but_its_description() -> None:
    project = Project(id=UUID(int=1), name="Launch", tags=["web"])

    row = abbreviated(project, kind=PROJECT, description="d" * 100, executive_summary="e", context="c")

    # A list of projects is for finding one; `fields` asks for the other texts.
    assert row["description"] == "d" * 100
    assert not {"executive_summary", "context", "context_preview", "tags"} & row.keys()


def test_brain_dump_row_has_summary_and_operation_count() -> None:
    document = Document(id=UUID(int=1), title="Dump", operation_count=0)
    document.content_length = 5  # type: ignore[attr-defined]  # set by with_context()

    row = abbreviated(document, kind=DOCUMENT, ai_summary="Two tasks")

    assert (row["ai_summary"], row["operation_count"]) == ("Two tasks", 0)
    assert "category" not in row


@for_each(
    "fields, overdue",
    [
        ({}, False),
        ({"due_at": MADE_AT - timedelta(seconds=1)}, True),
        ({"due_at": MADE_AT}, False),  # due now
        ({"due_at": MADE_AT - timedelta(days=9), "state_key": "done"}, False),
        ({"start_at": MADE_AT - timedelta(days=9)}, False),  # past its start, but without a due date
    ],
)
def test_task_is_overdue_when_due_before_now_and_not_done(fields: dict[str, Any], overdue: bool) -> None:
    assert abbreviated(task(**fields)).get("is_overdue", False) is overdue


@for_each(
    "projects, shared",
    [
        ([("1", "Launch"), ("1", "Launch")], {"project_id": "1", "project_name": "Launch"}),
        ([("1", "Launch"), ("2", "Launch")], {}),
        ([("1", "Launch"), (None, None)], {}),
        ([("1", "Launch"), ("1", "Launch"), (None, None)], {"project_ids": {"Launch": "1"}}),
        ([("1", "Launch"), ("1", "Launch"), ("2", "Move")], {"project_ids": {"Launch": "1", "Move": "2"}}),
        ([("1", "Launch"), ("1", "Launch"), ("2", "Launch")], {}),
        ([("1", "Launch"), ("2", "Move")], {}),  # a map would not be shorter
        ([(None, None), (None, None)], {}),
        ([("1", "Launch")], {}),
        ([], {}),
    ],
)
def test_projects_of_many_rows_are_said_once(projects: list[Any], shared: dict[str, Any]) -> None:
    rows = [{"title": "A"} | ({"project_id": id, "project_name": name} if id else {}) for id, name in projects]

    left, taken = serialization.take_out_project(rows)

    assert taken == shared
    assert not shared or not any("project_id" in row for row in left)
    ids, of_all = taken.get("project_ids", {}), {} if "project_ids" in taken else taken
    named = [{"project_id": ids[row["project_name"]]} if row.get("project_name") in ids else {} for row in left]
    assert [row | id | of_all for row, id in zip(left, named, strict=True)] == rows


def test_facts_depend_on_the_request_time_and_are_not_columns() -> None:
    row = MilestoneFactory.build(due_at=AT)
    row.project_name = "Launch"

    assert serialization.serialize_row(row, kind=MILESTONE, at=AT) == serialization.serialize_columns(
        row, kind=MILESTONE
    ) | {"is_missed": False}
    assert serialization.serialize_row(row, kind=MILESTONE, at=AT + timedelta(seconds=1))["is_missed"] is True
    assert "is_missed" not in serialization.serialize_columns(row, kind=MILESTONE)
