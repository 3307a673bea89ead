"""Undo of the caller's last writes: every table is as it was before the write."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from core.handler_contract import Forbidden, NotFound, OpOutcome, StateConflict
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MembershipFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import AT, call_handler
from workspace.handlers import HANDLERS
from workspace.models import (
    CalendarEvent,
    MemberRole,
    Membership,
    Project,
    Task,
    WriteRecord,
)
from workspace.services.undo import undoing
from workspace.services.undo.recording import delete_old_records, find_subject_rows

LATER = AT + timedelta(hours=1)
UNRESTORED = {"updated_at", "tree_version"}  # of a row that was undone


def undo(**args: Any) -> OpOutcome:
    return call_handler("undo_onto_writes", at=LATER, **args)


def read_tables() -> dict[str, dict[Any, dict[str, Any]]]:
    """Return the living rows of every table that a write can change, without those of a deleted project."""
    tables = {}
    for model in undoing.MODELS:
        living: Any = model._base_manager.filter(deleted_at=None)
        rows = (living if model is Project else living.exclude(project__deleted_at__isnull=False)).values()
        tables[str(model._meta.model_name)] = {
            row["id"]: {name: value for name, value in row.items() if name not in UNRESTORED} for row in rows
        }
    return tables


class World:
    """A project with rows of several kinds, linked, and other projects of the same owner."""

    def __init__(self) -> None:
        self.project, self.other = ProjectFactory(name="Launch"), ProjectFactory(name="Other")
        dates = {"start_at": AT, "due_at": AT + timedelta(days=3), "recurrence": "weekly"}
        self.weekly = self.make("task", title="Weekly", **{name: str_time(value) for name, value in dates.items()})
        self.task = self.make("task", title="Write", due_at="2026-03-09T12:00:00Z", priority=2)
        self.subtask = self.make("task", title="Part", parent_task_id=self.task)
        self.goal = self.make("goal", name="Sold out")
        self.documents = [self.make("document", title=title) for title in "ABC"]
        self.below = self.make("document", title="Below", parent_id=self.documents[1])
        link = {"src_kind": "task", "src_id": self.task, "dst_kind": "goal", "dst_id": self.goal}
        self.edge = call_handler("link_onto_entities", rel="supports_goal", **link).result["edge"]["id"]
        self.event = call_handler("create_calendar_event", title="Lunch", start_at="2026-03-04T12:00:00Z").result[
            "event"
        ]["id"]
        WriteRecord.objects.all().delete()

    def make(self, kind: str, **fields: Any) -> str:
        sent = {"project_id": str(self.project.pk)} | fields
        return str(call_handler(f"create_onto_{kind}", **sent).result[kind]["id"])


def str_time(value: Any) -> Any:
    return value if isinstance(value, str) else value.isoformat().replace("+00:00", "Z")


@pytest.fixture
def world(db: None) -> World:
    return World()


# A write for every tool that writes, but the undo itself.
WRITES: dict[str, list[Callable[[World], dict[str, Any]]]] = {
    **{
        f"create_onto_{kind}": [lambda world, label=label: {"project_id": str(world.project.pk), label: "New"}]
        for kind, label in [
            *(("goal", "name"), ("plan", "name"), ("milestone", "title"), ("risk", "title"), ("requirement", "text")),
        ]
    },
    "create_onto_task": [
        lambda world: {"project_id": str(world.project.pk), "title": "New", "due_at": "2026-03-09T12:00:00Z"},
        lambda world: {"project_id": str(world.project.pk), "title": "New", "goal_id": world.goal},
    ],
    "create_onto_document": [
        lambda world: {"project_id": str(world.project.pk), "title": "New", "position": 1},
        lambda world: {"project_id": str(world.project.pk), "title": "New", "parent_id": world.documents[1]},
    ],
    "create_onto_project": [
        lambda _world: {
            "project": {"name": "New", "type_key": "project.business.launch"},
            "entities": [{"temp_id": "t", "kind": "task", "title": "First", "due_at": "2026-03-09T12:00:00Z"}],
        }
    ],
    "update_onto_project": [lambda world: {"project_id": str(world.project.pk), "name": "Renamed", "tags": ["a"]}],
    "update_onto_task": [
        lambda world: {"task_id": world.task, "title": "Read", "state_key": "done", "props": {"a": 1}},
        lambda world: {"task_id": world.task, "due_at": None, "description": "words " * 100},
        lambda world: {"task_id": world.subtask, "parent_task_id": None},
        lambda world: {"task_id": world.weekly, "title": "One", "scope": "this", "occurrence_start": "2026-03-09"},
    ],
    "update_onto_document": [lambda world: {"document_id": world.documents[0], "content": "# New\n", "tags": ["x"]}],
    **{f"update_onto_{kind}": [] for kind in ("plan", "milestone", "risk", "requirement")},
    "update_onto_goal": [lambda world: {"goal_id": world.goal, "name": "Half sold", "state_key": "achieved"}],
    "delete_onto_project": [lambda world: {"project_id": str(world.project.pk)}],
    "delete_onto_task": [
        lambda world: {"task_id": world.task},
        lambda world: {"task_id": world.weekly, "scope": "this", "occurrence_start": "2026-03-09"},
    ],
    "delete_onto_document": [
        lambda world: {"document_id": world.documents[1]},
        lambda world: {"document_id": world.documents[1], "children": "promote"},
    ],
    "delete_onto_goal": [lambda world: {"goal_id": world.goal}],
    **{f"delete_onto_{kind}": [] for kind in ("plan", "milestone", "risk", "requirement")},
    "move_onto_task": [
        lambda world: {
            "task_id": world.task,
            "expected_project_id": str(world.project.pk),
            "project_id": str(world.other.pk),
        }
    ],
    "shift_onto_tasks": [lambda world: {"project_id": str(world.project.pk), "days": 3}],
    "move_document_in_tree": [
        lambda world: {"document_id": world.documents[2], "new_parent_id": world.documents[0], "new_position": 0},
        lambda world: {"document_id": world.documents[2], "new_position": 0},
        lambda world: {"document_id": world.below, "new_position": 1},
    ],
    "create_task_document": [
        lambda world: {"task_id": world.task, "title": "Notes"},
        lambda world: {"task_id": world.task, "document_id": world.documents[0]},
    ],
    "link_onto_entities": [
        lambda world: {
            "src_kind": "task",
            "src_id": world.subtask,
            "dst_kind": "goal",
            "dst_id": world.goal,
            "rel": "supports_goal",
        }
    ],
    "unlink_onto_edge": [lambda world: {"edge_id": world.edge}],
    "reorganize_onto_project_graph": [],
    "schedule_task": [lambda world: {"task_id": world.task, "start_at": "2026-03-05T09:00", "duration_minutes": 90}],
    "create_calendar_event": [lambda _world: {"title": "New", "start_at": "2026-03-05", "end_at": "2026-03-06"}],
    "update_calendar_event": [
        lambda world: {"event_id": world.event, "title": "Dinner", "start_at": "2026-03-04T18:00:00Z"},
        lambda world: {
            "event_id": str(CalendarEvent.objects.get(task=world.task).pk),
            "start_at": "2026-03-11T09:00:00Z",
        },
    ],
    "delete_calendar_event": [
        lambda world: {"event_id": world.event},
        lambda world: {"event_id": str(CalendarEvent.objects.get(task=world.task).pk)},
    ],
    "set_project_calendar": [lambda world: {"project_id": str(world.project.pk), "name": "Dates"}],
}
READS = ("list_", "search_", "get_", "read_", "find_")


def test_every_tool_that_writes_is_undone_here() -> None:
    assert {name for name in HANDLERS if not name.startswith(READS)} == WRITES.keys() | {"undo_onto_writes"}


@pytest.mark.both_databases
@for_each("tool, build", [(tool, build) for tool, builders in WRITES.items() for build in builders], undone=True)
def test_undo_restores_every_table(world: World, tool: str, build: Callable[[World], dict[str, Any]]) -> None:
    before = read_tables()
    call_handler(tool, at=AT, **build(world))
    assert read_tables() != before

    outcome = undo()

    assert read_tables() == before
    assert outcome.result["message"] == "Undid 1 write; an undo itself cannot be undone."
    with pytest.raises(NotFound):
        undo()


def test_undo_of_several_goes_back_write_by_write(world: World) -> None:
    before = read_tables()
    for title in ("One", "Two", "Three"):
        call_handler("update_onto_task", task_id=world.task, title=title)

    outcome = undo(count=3)

    assert read_tables() == before
    assert [write["undone"] for write in outcome.result["writes"]] == [
        "Changed “Two”: title Two → Three.".replace("“Two”", "“Three”"),
        "Changed “Two”: title One → Two.",
        "Changed “One”: title Write → One.",
    ]
    assert outcome.changed_ids


def test_undo_of_named_writes_leaves_the_others(world: World) -> None:
    call_handler("update_onto_task", task_id=world.task, title="Renamed")
    call_handler("update_onto_goal", goal_id=world.goal, name="Kept")
    first = WriteRecord.objects.order_by("pk")[0]

    undo(write_ids=[first.pk])

    assert Task.objects.get(pk=world.task).title == "Write"
    assert list(WriteRecord.objects.filter(undone_at=None).values_list("tool_name", flat=True)) == ["update_onto_goal"]
    with pytest.raises(NotFound):
        undo(write_ids=[first.pk])


@for_each(
    "tool, args, change, message",
    [
        (
            "update_onto_task",
            {"state_key": "in_progress"},
            lambda world: call_handler("update_onto_task", task_id=world.task, state_key="blocked", subject="editor"),
            "the task “Write”: state_key in_progress → blocked",
        ),
        (
            "update_onto_task",
            {"title": "Read"},
            lambda world: call_handler("delete_onto_task", task_id=world.task, subject="editor"),
            "the task “Read” was deleted",
        ),
        (
            "update_onto_task",
            {"description": "words " * 50},
            lambda world: call_handler("update_onto_task", task_id=world.task, description="No", subject="editor"),
            "the task “Write”: description",
        ),
    ],
    undone=True,
)
def test_undo_is_refused_where_a_row_moved_on(
    world: World, tool: str, args: dict[str, Any], change: Callable[[World], Any], message: str
) -> None:
    MembershipFactory(project=world.project, subject="editor", role=MemberRole.EDITOR)
    call_handler(tool, task_id=world.task, **args)
    change(world)
    moved_on = read_tables()

    with pytest.raises(StateConflict) as refused:
        undo()

    assert refused.value.reason == "moved_on"
    assert message in refused.value.message
    assert refused.value.details["changed"]
    assert read_tables() == moved_on


def test_another_field_of_the_row_may_have_changed(world: World) -> None:
    call_handler("update_onto_task", task_id=world.task, title="Read")
    Task.objects.filter(pk=world.task).update(priority=5)

    undo()

    task = Task.objects.get(pk=world.task)
    assert (task.title, task.priority, task.updated_at) == ("Write", 5, LATER)


def test_project_with_later_rows_is_not_undone(db: None) -> None:
    sent = {"project": {"name": "New", "type_key": "project.business.launch"}}
    id = call_handler("create_onto_project", **sent).result["project_id"]
    TaskFactory(project=Project.objects.get(pk=id))

    with pytest.raises(StateConflict, match="1 task added"):
        undo()

    assert Project.objects.get().deleted_at is None


def test_document_does_not_return_below_a_deleted_one(world: World) -> None:
    call_handler("delete_onto_document", document_id=world.below)
    call_handler("delete_onto_document", document_id=world.documents[1], subject="owner")
    later = WriteRecord.objects.order_by("pk")[0]

    with pytest.raises(StateConflict, match="the document above the document “Below” was deleted"):
        undo(write_ids=[later.pk])


def test_only_own_writes_that_one_may_still_make_are_undone(world: World) -> None:
    call_handler("update_onto_task", task_id=world.task, title="Read")

    with pytest.raises(NotFound) as nothing:
        undo(subject="editor")
    Membership.objects.filter(project=world.project, subject="owner").update(role=MemberRole.VIEWER)
    with pytest.raises(Forbidden):
        undo()

    assert nothing.value.reason == "nothing_to_undo"


def test_write_that_changes_nothing_is_not_recorded(world: World) -> None:
    call_handler("update_onto_task", task_id=world.task, title="Write")
    call_handler("list_onto_tasks")

    assert not WriteRecord.objects.exists()


def test_writes_are_kept_for_seven_days_and_named_in_exports(world: World) -> None:
    call_handler("update_onto_task", task_id=world.task, title="Read")
    week = timedelta(days=7)

    assert not delete_old_records(AT + week)
    assert find_subject_rows("owner")["workspace_writes"].count() == 1
    with pytest.raises(NotFound):
        call_handler("undo_onto_writes", at=AT + week + timedelta(seconds=1))
    delete_old_records(AT + week + timedelta(seconds=1))

    assert not WriteRecord.objects.exists()


def test_update_of_a_row_costs_one_more_query(world: World, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(3) as recorded:
        call_handler("update_onto_goal", goal_id=world.goal, name="Half sold")

    assert sum("workspace_writerecord" in query["sql"] for query in recorded.captured_queries) == 1
