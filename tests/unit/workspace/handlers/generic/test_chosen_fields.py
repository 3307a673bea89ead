"""The `fields` argument: lists and updates answer exactly what it names."""

from typing import Any

import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory, TaskFactory
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.models import Task


@pytest.fixture
def task(db: None) -> Task:
    task: Task = TaskFactory(title="Write", details="d" * 150, duration_minutes=30)
    return task


def list_one(**args: Any) -> dict[str, Any]:
    [row] = call_handler("list_onto_tasks", **args).result["tasks"]
    assert isinstance(row, dict)
    return row


def test_list_rows_show_the_fields_that_were_asked_for(task: Task) -> None:
    usual, asked = list_one(), list_one(fields=["duration_minutes", "details", "updated_at"])

    assert usual.keys().isdisjoint({"duration_minutes", "details", "details_preview", "updated_at"})
    texts = {"details": "d" * 150, "updated_at": "2026-03-01T09:00:00Z"}
    assert asked == {"id": str(task.pk), "duration_minutes": 30} | texts
    assert list_one(fields=["details_preview", "is_overdue"]) == {
        "id": str(task.pk),
        "details_preview": "d" * 100 + "…",
    }
    assert list_one(fields=["project_id"]).keys() == {"id", "project_id"}


def test_updates_show_the_fields_that_were_asked_for(task: Task) -> None:
    args = {"task_id": str(task.pk), "title": "New"}

    changed = call_handler("update_onto_task", fields=["details_preview", "priority"], **args).result["task"]

    assert changed == {"id": str(task.pk), "details_preview": "d" * 100 + "…", "priority": task.priority}


def test_projects_show_the_role_only_if_it_was_asked_for(task: Task) -> None:
    [usual] = call_handler("list_onto_projects").result["projects"]
    [named, role] = (
        call_handler("list_onto_projects", fields=[field]).result["projects"][0] for field in ("name", "role")
    )

    assert named == {name: usual[name] for name in ("id", "name")}
    assert role == {name: usual[name] for name in ("id", "role")}


def test_documents_show_the_length_of_their_content_if_it_was_asked_for(db: None) -> None:
    document = DocumentFactory(content="Four")

    [row] = call_handler("list_onto_documents", fields=["content_length", "content"]).result["documents"]

    assert row == {"id": str(document.pk), "content_length": 4, "content": "Four"}


def test_star_means_all_fields(task: Task) -> None:
    id = str(task.pk)
    complete = call_handler("get_onto_task_details", task_id=id).result["task"]

    changed = call_handler("update_onto_task", task_id=id, title="New", fields=["*"]).result["task"]

    assert changed == complete | {"title": "New", "updated_at": changed["updated_at"]}
    # List rows leave out what is empty or false.
    filled = {name for name, value in complete.items() if value not in (None, False, "", [], {})}
    assert filled <= list_one(fields=["*"]).keys()


@for_each("tool", ["list_onto_tasks", "update_onto_task"], undone=True)
def test_unknown_field_is_refused_with_the_names_of_all(task: Task, tool: str) -> None:
    args = {"task_id": str(task.pk), "title": "New"} if tool.startswith("update") else {}

    error = get_field_error(lambda: call_handler(tool, fields=["title", "colour"], **args))

    assert (error.path, error.code) == ("/fields/1", "unknown_field")
    assert "Use * for all fields, or choose from: id, " in error.message


def test_events_show_the_fields_that_were_asked_for(db: None) -> None:
    call_handler("create_calendar_event", title="Round", start_at="2026-03-04T12:00:00Z", description="Agenda: figures")

    [usual] = call_handler("list_calendar_events").result["events"]
    [asked] = call_handler("list_calendar_events", fields=["description", "time_zone"]).result["events"]

    assert usual["has_description"] is True
    assert asked == {"id": usual["id"], "description": "Agenda: figures", "time_zone": asked["time_zone"]}
