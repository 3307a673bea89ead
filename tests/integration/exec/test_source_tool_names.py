"""The names and argument shapes of the chat system's own tools, which models know from its earlier prompts."""

from typing import Any

from tests.support.clients.api import Api
from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.demo.rows import get_demo_id
from workspace.models import Project, Task

UNDATED_TASK_ID = get_demo_id("task", 12)
NOTE_ID = get_demo_id("document", 1)


@for_each(
    "tool, args, op",
    [
        ("list_tasks", {"status": ["backlog", "done"], "priority": ["high"], "sort_by": "priority"}, "onto.task.list"),
        ("search_projects", {"query": "website", "status": "active", "has_active_tasks": True}, "onto.project.search"),
        ("search_projects", {"status": "active", "limit": 20}, "onto.project.search"),
        ("search_projects", {"status": "archived"}, "onto.project.search"),
        ("list_projects", {"has_active_tasks": False}, "onto.project.list"),
        ("search_notes", {"query": "guide", "category": "research", "limit": 5}, "onto.document.search"),
        ("get_task_details", {"task_id": DEMO_TASK_ID, "include_project_context": True}, "onto.task.get"),
        (
            "get_project_details",
            {"project_id": DEMO_PROJECT_ID, "include_tasks": True, "include_phases": True, "include_notes": True},
            "onto.project.get",
        ),
        ("get_note_details", {"note_id": NOTE_ID}, "onto.document.get"),
        (
            "update_project_context",
            {"project_id": DEMO_PROJECT_ID, "context_update": "New.", "merge_strategy": "append"},
            "onto.project.update",
        ),
        ("get_calendar_events", {"timeMin": "2030-01-01", "timeMax": "2030-01-02"}, "cal.event.list"),
        ("find_available_slots", {"timeMin": "2030-01-01", "timeMax": "2030-01-08"}, "cal.slot.find"),
        ("schedule_task", {"task_id": UNDATED_TASK_ID, "start_time": "2030-01-01T10:00:00Z"}, "cal.task.schedule"),
    ],
    undone=True,
)
def test_tool_of_the_chat_system_runs_its_op(api: Api, tool: str, args: dict[str, Any], op: str) -> None:
    envelope = api.exec(tool, args)

    assert (envelope["op"], envelope["ok"], envelope.get("error")) == (op, True, None)


def test_task_is_created_from_the_chat_systems_arguments(api: Api) -> None:
    args = {"project_id": DEMO_PROJECT_ID, "title": "Call", "priority": "high", "start_date": "2030-01-02"}

    once = api.exec("create_task", args | {"task_type": "one_off"})
    recurring = api.exec("create_task", args | {"task_type": "recurring"})

    task = once["result"]["task"]
    # midnight in Berlin
    assert (task["priority"], task["start_at"][:10]) == (2, "2030-01-01")
    assert "recurrence" not in task | recurring["result"]["task"]
    [warning] = [each for each in recurring["meta"]["warnings"] if "repeat" in each]
    assert "Send recurrence with onto.task.update" in warning


@for_each("pattern", ["recurrence", "recurrence_pattern"])
def test_task_type_recurring_goes_with_how_often(api: Api, pattern: str) -> None:
    args = {"project_id": DEMO_PROJECT_ID, "title": "Call", "start_date": "2030-01-02", "task_type": "recurring"}

    envelope = api.exec("create_task", args | {pattern: "weekly"})

    assert envelope["result"]["task"]["recurrence"] == "weekly"
    assert not [each for each in envelope["meta"]["warnings"] if "how often" in each]


def test_search_notes_finds_notes_and_their_variants_only(api: Api) -> None:
    for position, type_key in enumerate(("document.note", "document.note.meeting", "document.default"), start=100):
        fields = {"title": f"Zebra {type_key}", "type_key": type_key, "position": position}
        DocumentFactory(project_id=DEMO_PROJECT_ID, **fields)

    envelope = api.exec("search_notes", {"query": "zebra"})

    types = {row["type_key"] for row in envelope["result"]["documents"]}
    assert types == {"document.note", "document.note.meeting"}
    assert envelope["meta"]["applied_defaults"]["type_key"] == "document.note"
    assert api.exec("search_notes", {"query": "zebra", "type_key": "document.default"})["result"]["total"] == 1
    assert api.exec("onto.document.search", {"query": "zebra"})["result"]["total"] == 3


def test_list_tasks_answers_the_rows_of_the_chat_system(api: Api) -> None:
    task = Task.objects.get(pk=UNDATED_TASK_ID)
    Task.objects.filter(pk=task.pk).update(details="d" * 200)

    rows = api.exec("list_tasks", {"limit": 50, "project_id": str(task.project_id)})["result"]["tasks"]

    assert [each["priority"] for each in rows] == sorted(each["priority"] for each in rows)
    [row] = [each for each in rows if each["id"] == UNDATED_TASK_ID]
    assert (row["details_preview"], "project_id" in row) == ("d" * 100 + "…", False)
    assert all({"title", "state_key", "priority", "duration_minutes", "project_name"} <= each.keys() for each in rows)


def test_updates_are_unwrapped_with_a_warning(api: Api) -> None:
    updates = {"title": "New title", "status": "in_progress", "start_date": "2030-01-02", "duration_minutes": 30}

    envelope = api.exec("update_task", {"task_id": UNDATED_TASK_ID, "updates": updates})

    task = Task.objects.get(pk=UNDATED_TASK_ID)
    assert (task.title, task.state_key, task.duration_minutes) == ("New title", "in_progress", 30)
    assert task.start_at is not None
    assert envelope["meta"]["warnings"][:3] == [
        "Read updates.start_date as start_at.",
        "Read updates.status as state_key.",
        "Read the members of updates as arguments.",
    ]
    assert api.exec("update_project", {"project_id": DEMO_PROJECT_ID, "updates": {"name": "Relaunch"}})["ok"]
    assert Project.objects.get(pk=DEMO_PROJECT_ID).name == "Relaunch"
