"""Scheduling tasks: their times, their events, and warnings about overlaps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.handler_contract import StateConflict
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    EventFactory,
    MembershipFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import call_handler, list_field_errors
from workspace.models import CalendarEvent, MemberRole, Task, TaskState
from workspace.services.calendar import task_events

MONDAY = "2026-03-09T09:00"


@pytest.fixture
def task(db: None) -> Task:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    task: Task = TaskFactory(title="Write", project=ProjectFactory(created_by="owner"))
    return task


def schedule(task: Task, start_at: str = MONDAY, **sent: Any) -> Any:
    return call_handler("schedule_task", task_id=str(task.pk), start_at=start_at, **sent)


def get_refusal(task: Task, **sent: Any) -> list[tuple[str, str]]:
    """Return the pointer and code of a refused call, after checking that it changed nothing."""
    before = Task.objects.values().get(pk=task.pk)
    errors = list_field_errors(lambda: schedule(task, **sent))
    assert Task.objects.values().get(pk=task.pk) == before
    return errors


def list_starts(subject: str = "owner", **sent: Any) -> list[str]:
    listed = call_handler("list_calendar_events", subject=subject, fields=["start_at"], **sent).result
    return [event["start_at"] for event in listed["events"]]


def test_schedule_sets_the_times_and_creates_the_event(task: Task) -> None:
    outcome = schedule(task, duration_minutes=90)

    task.refresh_from_db()
    expected = (datetime(2026, 3, 9, 8, 0, tzinfo=UTC), datetime(2026, 3, 9, 9, 30, tzinfo=UTC))
    assert (task.start_at, task.due_at) == expected
    assert task.duration_minutes == 90
    [event] = outcome.result["events"]
    assert event["id"] == str(CalendarEvent.objects.get().pk)
    assert (event["start_at"], event["end_at"]) == ("2026-03-09T09:00:00+01:00", "2026-03-09T10:30:00+01:00")
    assert event["linked_task_id"] == outcome.result["task"]["id"] == str(task.pk)
    assert outcome.result["message"] == (
        "Scheduled “Write” for Monday 2026-03-09T09:00:00+01:00 to 2026-03-09T10:30:00+01:00."
        " Changed duration_minutes 60 → 90. Nothing overlaps."
    )
    assert (outcome.entity_id, outcome.entity_name) == (str(task.pk), "Write")


def test_second_schedule_uses_the_duration_of_the_task_and_moves_the_same_event(task: Task) -> None:
    Task.objects.update(duration_minutes=45)
    [first] = schedule(task).result["events"]

    [second] = schedule(task, "2026-03-10T09:00:00-04:00").result["events"]

    assert (first["id"], first["end_at"]) == (second["id"], "2026-03-09T09:45:00+01:00")
    assert second["start_at"] == "2026-03-10T14:00:00+01:00"
    assert CalendarEvent.objects.count() == 1


def test_schedule_of_long_work_does_not_say_that_nothing_overlaps(task: Task) -> None:
    """Its events are half an hour at the start and one at the end: what lies between is not compared."""
    assert "overlaps" not in schedule(task, duration_minutes=11 * 60).result["message"]


DEADLINE = datetime(2026, 3, 9, 16, 0, tzinfo=UTC)


@pytest.fixture
def task_with_deadline(task: Task) -> Task:
    """The task, due at five on Monday."""
    call_handler("update_onto_task", task_id=str(task.pk), due_at="2026-03-09T16:00:00Z")
    return task


def test_schedule_keeps_a_deadline(task_with_deadline: Task) -> None:
    outcome = schedule(task_with_deadline)

    task_with_deadline.refresh_from_db()
    assert task_with_deadline.due_at == DEADLINE
    assert outcome.result["message"] == (
        "Scheduled “Write” for Monday 2026-03-09T09:00:00+01:00 to 2026-03-09T10:00:00+01:00."
        " It is due 2026-03-09T17:00:00+01:00. Nothing overlaps."
    )
    assert [(event["title"], event["start_at"], event["end_at"]) for event in outcome.result["events"]] == [
        ("Write", "2026-03-09T09:00:00+01:00", "2026-03-09T10:00:00+01:00"),  # due_at of the task says the other
    ]
    assert list_starts(time_min="2026-03-09", time_max="2026-03-09") == ["2026-03-09T09:00", "2026-03-09T16:30"]


def test_schedule_at_the_start_that_it_had_shows_the_work_apart_from_the_deadline(task_with_deadline: Task) -> None:
    call_handler("update_onto_task", task_id=str(task_with_deadline.pk), start_at="2026-03-09T08:00:00Z")

    outcome = schedule(task_with_deadline)

    assert "unchanged" not in outcome.warnings
    assert [event["end_at"] for event in outcome.result["events"]] == ["2026-03-09T10:00:00+01:00"]
    assert list_starts(time_min="2026-03-09", time_max="2026-03-09") == ["2026-03-09T09:00", "2026-03-09T16:30"]


def test_second_schedule_keeps_the_deadline_too(task_with_deadline: Task) -> None:
    schedule(task_with_deadline, "2026-03-09T16:00")  # until the deadline

    moved = schedule(task_with_deadline, "2026-03-09T11:00", duration_minutes=90)

    task_with_deadline.refresh_from_db()
    assert task_with_deadline.due_at == datetime(2026, 3, 9, 16, tzinfo=UTC)
    assert (
        "Changed start_at 2026-03-09T16:00:00+01:00 → 2026-03-09T11:00:00+01:00, duration_minutes 60 → 90."
        in (moved.result["message"])
    )


@for_each(
    "due_at, expected", [("2026-03-10T12:00", "2026-03-10T11:00:00Z"), (None, "2026-03-09T09:00:00Z")], undone=True
)
def test_schedule_moves_a_deadline_when_asked(task_with_deadline: Task, due_at: str | None, expected: str) -> None:
    outcome = schedule(task_with_deadline, due_at=due_at)

    assert outcome.result["task"]["due_at"] == expected
    assert "Changed due_at 2026-03-09T17:00:00+01:00 → " in outcome.result["message"]


def test_schedule_after_the_deadline_is_refused(task_with_deadline: Task) -> None:
    assert get_refusal(task_with_deadline, start_at="2026-03-10T09:00") == [("/start_at", "after_due")]
    assert get_refusal(task_with_deadline, due_at="2026-03-09T08:00") == [("/due_at", "out_of_order")]


def test_schedule_warns_when_the_work_ends_after_the_deadline(task_with_deadline: Task) -> None:
    outcome = schedule(task_with_deadline, "2026-03-09T16:30")

    assert "The task is due 2026-03-09T17:00:00+01:00, before it ends." in outcome.warnings


def test_deadline_of_a_recurring_task_moves_with_its_start(task_with_deadline: Task) -> None:
    schedule(task_with_deadline, recurrence="weekly")

    moved = schedule(task_with_deadline, "2026-03-11T09:00")

    assert moved.result["task"]["due_at"] == "2026-03-11T16:00:00Z"
    assert moved.result["message"].endswith(
        "due_at 2026-03-09T17:00:00+01:00 → 2026-03-11T17:00:00+01:00. It recurs, so all its times moved."
        " It is due 2026-03-11T17:00:00+01:00. Nothing overlaps until 2026-04-08."
    )


def test_work_is_still_shown_when_its_deadline_is_cleared(task_with_deadline: Task) -> None:
    schedule(task_with_deadline)

    call_handler("update_onto_task", task_id=str(task_with_deadline.pk), due_at=None, duration_minutes=120)

    [event] = task_events.filter_task_events(task_with_deadline)
    expected = ("Write", datetime(2026, 3, 9, 8, 0, tzinfo=UTC), datetime(2026, 3, 9, 10, 0, tzinfo=UTC))
    assert (event.title, event.start_at, event.end_at) == expected


def test_event_of_scheduled_work_can_be_moved_and_keeps_its_length(task_with_deadline: Task) -> None:
    [work] = schedule(task_with_deadline).result["events"]

    call_handler("update_calendar_event", event_id=work["id"], start_at="2026-03-09T13:00")

    task_with_deadline.refresh_from_db()
    expected = (datetime(2026, 3, 9, 12, 0, tzinfo=UTC), DEADLINE)
    assert (task_with_deadline.start_at, task_with_deadline.due_at) == expected
    assert list_starts(time_min="2026-03-09", time_max="2026-03-09") == ["2026-03-09T13:00", "2026-03-09T16:30"]


def test_schedule_with_the_same_values_is_unchanged(task: Task) -> None:
    schedule(task)

    outcome = schedule(task, "2026-03-09T08:00:00Z")

    assert "unchanged" in outcome.warnings
    assert outcome.result["message"].startswith("Nothing changed")
    assert len(outcome.result["events"]) == 1


def test_schedule_ends_at_the_last_of_a_count_or_includes_the_last_day(task: Task) -> None:
    outcome = schedule(task, "2026-03-27T09:00", recurrence="weekdays", recurrence_count=3)

    assert outcome.result["task"]["recurrence_until"] == "2026-03-31T07:00:00Z"
    assert outcome.result["message"].endswith("weekdays until 2026-03-31T09:00:00+02:00. Nothing overlaps.")
    assert len(list_starts(time_min="2026-03-27", time_max="2026-12-31")) == 3

    schedule(task, "2026-01-31T16:00", recurrence="monthly", recurrence_until="2026-04-30")
    expected = ["2026-01-31T16:00", "2026-02-28T16:00", "2026-03-31T16:00", "2026-04-30T16:00"]
    assert list_starts(time_min="2026-01-01", time_max="2026-12-31") == expected
    once = schedule(task, "2026-01-31T16:00", recurrence=None)
    assert once.result["message"].endswith("That time is in the past. Nothing overlaps.")


def test_schedule_keeps_recurrence_and_its_end_unless_null_clears_them(task: Task) -> None:
    def reschedule(**sent: Any) -> tuple[str, datetime | None]:
        schedule(task, "2026-03-10T09:00", **sent)
        task.refresh_from_db()
        return task.recurrence, task.recurrence_until

    schedule(task, recurrence="weekly", recurrence_count=5)

    assert get_refusal(task, start_at="2026-06-01T09:00") == [("/start_at", "out_of_order")]
    assert reschedule() == ("weekly", datetime(2026, 4, 6, 7, tzinfo=UTC))
    assert reschedule(recurrence=None) == ("", None)
    assert CalendarEvent.objects.get().recurrence_until is None
    reschedule(recurrence="weekly", recurrence_count=5)
    assert reschedule(recurrence_until=None) == ("weekly", None)
    assert CalendarEvent.objects.get().recurrence_until is None


def test_schedule_recurs_in_the_time_zone_of_the_subject(task: Task) -> None:
    schedule(task, recurrence="daily")
    ProfileFactory(subject="editor", time_zone="America/New_York")
    MembershipFactory(project=task.project, subject="editor", role=MemberRole.EDITOR)

    schedule(task, "2026-03-07T09:00", subject="editor")

    starts = list_starts(subject="editor", time_min="2026-03-07", time_max="2026-03-08")
    assert starts == ["2026-03-07T09:00", "2026-03-08T09:00"]


REFUSED: list[tuple[dict[str, Any], tuple[str, str]]] = [
    ({"recurrence": "weekdays", "start_at": "2026-03-07T09:00"}, ("/start_at", "weekend")),
    ({"recurrence_until": "2026-12-31"}, ("/recurrence_until", "no_recurrence")),
    ({"recurrence_count": 3}, ("/recurrence_count", "no_recurrence")),
    (
        {"recurrence": "daily", "recurrence_until": "2026-12-31", "recurrence_count": 3},
        ("/recurrence_count", "two_ends"),
    ),
    ({"recurrence": "daily", "recurrence_until": "2026-03-08"}, ("/recurrence_until", "out_of_order")),
    ({"recurrence": "daily", "recurrence_until": "2026-13-01"}, ("/recurrence_until", "impossible_time")),
    ({"start_at": "1815-06-18T11:30"}, ("/start_at", "impossible_time")),
    ({"start_at": "2199-12-31T23:00:00Z", "duration_minutes": 44_640}, ("/start_at", "impossible_time")),
]


@for_each("sent, error", REFUSED, undone=True)
def test_schedule_refuses_invalid_arguments(task: Task, sent: dict[str, Any], error: tuple[str, str]) -> None:
    assert get_refusal(task, **sent) == [error]


def test_schedule_refuses_a_done_task(task: Task) -> None:
    Task.objects.update(state_key=TaskState.DONE, completed_at=MADE_AT)

    with pytest.raises(StateConflict, match="reopen it") as refusal:
        schedule(task)

    assert refusal.value.reason == "task_done"


def make_own_event(title: str, start: str, minutes: int = 60, **columns: Any) -> CalendarEvent:
    begin = datetime.fromisoformat(start)
    event: CalendarEvent = EventFactory(
        **{"subject": "owner", "project": None, **columns},
        title=title,
        start_at=begin,
        end_at=begin + timedelta(minutes=minutes),
    )
    return event


def test_last_occurrence_of_a_long_task_has_its_end_event(task: Task) -> None:
    schedule(task, duration_minutes=700, recurrence="weekly", recurrence_count=2)

    expected = ["2026-03-09T09:00", "2026-03-09T20:10", "2026-03-16T09:00", "2026-03-16T20:10"]
    assert list_starts(time_min="2026-03-01", time_max="2026-04-30") == expected


def test_long_task_can_recur_without_end(task: Task) -> None:
    schedule(task, duration_minutes=700, recurrence="weekly")

    call_handler("update_onto_task", task_id=str(task.pk), recurrence_until="9999-12-31T23:59:59Z")

    assert len(list_starts(time_min="2026-03-01", time_max="2026-03-20")) == 4


def get_overlap_warnings(outcome: Any) -> list[str]:
    return [warning for warning in outcome.warnings if warning.startswith("Overlaps")]


def test_schedule_warns_about_overlaps_and_still_schedules(task: Task) -> None:
    make_own_event("Dentist", "2026-03-09T08:30:00+00:00")
    make_own_event("Before", "2026-03-09T07:00:00+00:00")
    make_own_event("After", "2026-03-09T09:00:00+00:00")
    due = TaskFactory(project=task.project, due_at=datetime(2026, 3, 9, 8, 30, tzinfo=UTC))
    task_events.sync_events([due], by="owner", at=MADE_AT)

    outcome = schedule(task)

    [warning] = get_overlap_warnings(outcome)
    assert "“Dentist” (2026-03-09T09:30:00+01:00 to 2026-03-09T10:30:00+01:00);" in warning
    assert len(outcome.result["events"]) == 1


def test_schedule_warns_about_overlaps_of_later_occurrences_and_not_of_its_own(task: Task) -> None:
    schedule(task, recurrence="daily")
    alone = schedule(task, "2026-03-09T09:30", recurrence="daily")
    assert get_overlap_warnings(alone) == []
    assert alone.result["message"].endswith(" Nothing overlaps until 2026-04-06.")  # only some weeks are searched
    make_own_event("Standup", "2026-03-10T08:00:00+00:00", 15, recurrence="weekly", time_zone="Europe/Berlin")

    [warning] = get_overlap_warnings(schedule(task, recurrence="daily"))

    assert "2026-03-10T09:00:00+01:00" in warning
    assert "and 3 more" in warning


def test_schedule_query_count_does_not_depend_on_the_calendar(task: Task, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        make_own_event(f"Event {number}", "2026-03-09T08:00:00+00:00")

    with django_assert_max_num_queries(12):
        schedule(task)
