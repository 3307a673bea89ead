"""Events of task dates, through the ops on tasks and by calling the service."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.handler_contract import InvalidArgs
from tests.support.cpu_budget import examples
from tests.support.loops import for_each
from tests.support.rows.factories import MADE_AT, EventFactory, ProfileFactory, ProjectFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler
from workspace.models import CalendarEvent, Task
from workspace.services.calendar import task_events
from workspace.services.time import times

MORNING = datetime(2026, 3, 4, 9, 0, tzinfo=UTC)
EVENING = MORNING + timedelta(hours=8)
NIGHT = MORNING + timedelta(hours=10, microseconds=1)  # longer than ten hours
NEXT_WEEK = MORNING + timedelta(days=7)
HALF = timedelta(minutes=30)


def list_events() -> list[tuple[str, datetime | None, datetime | None]]:
    """Return title, start and end of all events, earliest first."""
    events = CalendarEvent.objects.alive().order_by("start_at")
    return [(event.title, event.start_at, event.end_at) for event in events]


def format_times(**moments: datetime | None) -> dict[str, str | None]:
    return {name: moment and times.format_time(moment) for name, moment in moments.items()}


def create(**fields: Any) -> Any:
    sent = {"project_id": str(ProjectFactory().pk), "title": "Write", "fields": ["*"]}
    return call_handler("create_onto_task", **sent, **fields).result["task"]


@for_each(
    "start, due, expected",
    [
        (None, None, []),
        (MORNING, None, [("Start: Write", MORNING, MORNING + HALF)]),
        (None, EVENING, [("Due: Write", EVENING - HALF, EVENING)]),
        (MORNING, EVENING, [("Write", MORNING, EVENING)]),
        (MORNING, MORNING + timedelta(hours=10), [("Write", MORNING, MORNING + timedelta(hours=10))]),
        (MORNING, NIGHT, [("Start: Write", MORNING, MORNING + HALF), ("Due: Write", NIGHT - HALF, NIGHT)]),
        (MORNING, NEXT_WEEK, [("Start: Write", MORNING, MORNING + HALF), ("Due: Write", NEXT_WEEK - HALF, NEXT_WEEK)]),
        # An event needs a length, so a task that starts when it is due has only a due event.
        (MORNING, MORNING, [("Due: Write", MORNING - HALF, MORNING)]),
    ],
    undone=True,
)
def test_new_task_gets_events_for_its_dates(
    db: None, start: datetime | None, due: datetime | None, expected: list[Any]
) -> None:
    create(**{name: text for name, text in format_times(start_at=start, due_at=due).items() if text})

    assert list_events() == expected


@for_each("text", ["0001-01-01T00:10:00Z", "9999-12-31T23:50:00Z", "1899-12-31T23:59:00Z"], undone=True)
def test_date_outside_the_calendar_range_gets_no_event_and_no_error(db: None, text: str) -> None:
    task = create(due_at=text)
    call_handler("update_onto_task", task_id=task["id"], due_at=None, start_at=text)

    assert list_events() == []
    # Nor does a due date before the start, which no op stores.
    assert task_events.build_required_events(Task(title="Write", start_at=EVENING, due_at=MORNING)) == []


def test_event_keeps_the_fields_that_a_synced_copy_needs(db: None) -> None:
    task = create(**format_times(due_at=EVENING))

    event = CalendarEvent.objects.get()
    assert event.props == {
        "task_id": task["id"],
        "task_title": "Write",
        "task_link": f"workspace:/tasks/{task['id']}",
        "task_event_kind": "due",
    }
    assert (str(event.task_id), str(event.project_id), event.created_by) == (task["id"], task["project_id"], "owner")
    assert (event.created_at, event.updated_at) == (AT, AT)


@for_each(
    "change, expected",
    [
        (
            format_times(due_at=NEXT_WEEK),
            [("Start: Write", MORNING, MORNING + HALF), ("Due: Write", NEXT_WEEK - HALF, NEXT_WEEK)],
        ),
        (format_times(due_at=None), [("Start: Write", MORNING, MORNING + HALF)]),
        (format_times(start_at=None), [("Due: Write", EVENING - HALF, EVENING)]),
        (format_times(start_at=None, due_at=None), []),
        ({"title": "Rewrite"}, [("Rewrite", MORNING, EVENING)]),
        ({"priority": 1}, [("Write", MORNING, EVENING)]),
        ({"state_key": "blocked"}, [("Write", MORNING, EVENING)]),
    ],
    undone=True,
)
def test_events_follow_a_changed_task(db: None, change: dict[str, Any], expected: list[Any]) -> None:
    task = create(**format_times(start_at=MORNING, due_at=EVENING))
    [first] = CalendarEvent.objects.values_list("pk", flat=True)

    call_handler("update_onto_task", task_id=task["id"], **change)

    assert list_events() == expected
    assert not expected or CalendarEvent.objects.alive().filter(pk=first).exists()  # clients may have stored its id


def test_done_removes_future_events_and_reopening_restores_them(db: None) -> None:
    task = create(**format_times(start_at=AT - timedelta(days=2), due_at=AT + timedelta(days=2)))

    call_handler("update_onto_task", task_id=task["id"], state_key="done")
    assert [title for title, *_ in list_events()] == ["Start: Write"]

    call_handler("update_onto_task", task_id=task["id"], title="Rewrite", at=AT + timedelta(days=9))
    assert [title for title, *_ in list_events()] == ["Start: Rewrite"]  # a later date does not restore removed events

    call_handler("update_onto_task", task_id=task["id"], state_key="todo", at=AT + timedelta(days=10))
    assert [title for title, *_ in list_events()] == ["Start: Rewrite", "Due: Rewrite"]


def test_events_of_a_recurring_task_repeat_until_it_is_done(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="America/New_York")
    task = create(**format_times(start_at=AT - timedelta(days=2)), recurrence="daily")
    event = CalendarEvent.objects.get()
    assert (event.recurrence, event.recurrence_until, event.time_zone) == ("daily", None, "America/New_York")

    call_handler("update_onto_task", task_id=task["id"], state_key="done", scope="all")
    event.refresh_from_db()
    assert event.recurrence_until == AT

    call_handler("update_onto_task", task_id=task["id"], recurrence=None)
    event.refresh_from_db()
    assert (event.recurrence, event.recurrence_until) == ("", None)


def test_events_of_a_deleted_task_are_hidden_until_it_is_restored(db: None) -> None:
    task = create(**format_times(due_at=EVENING))

    call_handler("delete_onto_task", task_id=task["id"])
    assert list_events() == []

    Task.objects.update(deleted_at=None)
    assert len(list_events()) == 1


def test_events_move_with_their_task_and_its_subtasks(db: None) -> None:
    task = create(**format_times(due_at=EVENING))
    below = TaskFactory(project_id=task["project_id"], parent_task_id=task["id"])
    hours = EventFactory(project_id=task["project_id"], task=below)
    deleted = EventFactory(project_id=task["project_id"], task=below, deleted_at=MADE_AT)
    beside = EventFactory(project_id=task["project_id"])
    target = ProjectFactory()

    call_handler(
        "move_onto_task", task_id=task["id"], project_id=str(target.pk), expected_project_id=task["project_id"]
    )

    expected = {CalendarEvent.objects.get(task=task["id"]).pk, hours.pk, deleted.pk}
    assert set(target.events.values_list("pk", flat=True)) == expected
    beside.refresh_from_db()
    assert str(beside.project_id) == task["project_id"]


def test_tasks_of_a_new_project_get_events(db: None) -> None:
    entities = [
        {"temp_id": "a", "kind": "task", "title": "Write", **format_times(due_at=EVENING)},
        {"temp_id": "b", "kind": "task", "title": "Read"},
    ]
    project = {"name": "P", "type_key": "project.personal.garden"}
    chained = [[{"temp_id": "b", "kind": "task"}, {"temp_id": "a", "kind": "task"}]]
    call_handler("create_onto_project", project=project, entities=entities, relationships=chained)

    assert list_events() == [("Due: Write", EVENING - HALF, EVENING)]


def test_event_sync_query_count_stays_low_for_many_tasks(db: None, django_assert_max_num_queries: Any) -> None:
    project = ProjectFactory()
    tasks = TaskFactory.create_batch(60, project=project, start_at=MORNING, due_at=NEXT_WEEK)

    with django_assert_max_num_queries(10):  # existing events, the time zone, and inserts in batches that SQLite allows
        task_events.sync_events(tasks, by="owner", at=AT)
    with django_assert_max_num_queries(1):  # all events are up to date
        task_events.sync_events(tasks, by="owner", at=AT)
    for task in tasks:
        task.due_at = EVENING
    with django_assert_max_num_queries(10):  # 60 are removed, 60 become ranges
        task_events.sync_events(tasks, by="owner", at=AT)
    assert len(list_events()) == 60


MOMENTS = st.none() | st.integers(0, 4000).map(lambda minutes: MADE_AT + timedelta(minutes=minutes))
STATES = st.fixed_dictionaries(
    {"start_at": MOMENTS, "due_at": MOMENTS, "title": st.sampled_from("ab"), "completed_at": MOMENTS}
)


@pytest.fixture
def undone(db: None) -> Callable[[], AbstractContextManager[None]]:
    """Return a context that undoes each example of Hypothesis, because a fixture runs once for all of them."""

    @contextmanager
    def roll_back() -> Iterator[None]:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)

    return roll_back


def list_stored_events(task: Task) -> list[Any]:
    columns = ("task_event_kind", "title", "start_at", "end_at")
    return sorted(task.events.filter(deleted_at=None).values_list(*columns))


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(STATES, min_size=1, max_size=6))
def test_events_depend_only_on_the_current_task(
    undone: Callable[[], AbstractContextManager[None]], states: list[Any]
) -> None:
    with undone():
        task, fresh = TaskFactory.create_batch(2)
        for fields in states:
            if fields["start_at"] and fields["due_at"]:
                fields["start_at"], fields["due_at"] = sorted((fields["start_at"], fields["due_at"]))
            for each in (task, fresh) if fields is states[-1] else (task,):
                for name, value in fields.items():
                    setattr(each, name, value)
                each.state_key = "done" if fields["completed_at"] else "todo"
            task_events.sync_events([task], by="owner", at=AT)
        task_events.sync_events([fresh], by="owner", at=AT)

        assert list_stored_events(task) == list_stored_events(fresh)
        assert len(list_stored_events(task)) <= 2


def test_new_recurring_task_has_an_end(db: None) -> None:
    task = create(due_at="2026-03-06", recurrence="weekly", recurrence_until="2026-03-20")

    assert task["recurrence_until"].startswith("2026-03-20")
    with pytest.raises(InvalidArgs):
        create(due_at="2026-03-06", recurrence_until="2026-03-20")
