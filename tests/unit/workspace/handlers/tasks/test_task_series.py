"""A part of a recurring task: cancel or change one occurrence, one and all later ones, or all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.handler_contract import InvalidArgs
from tests.support.loops import for_each
from tests.support.rows.factories import DocumentFactory, ProfileFactory, RiskFactory, TaskFactory
from tests.support.values.handler_calls import AT, call_handler, get_field_error
from workspace.models import CalendarEvent, Edge, Task
from workspace.services.calendar import task_events, task_series

MADE_AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
MONDAY = datetime(2026, 3, 2, 8, tzinfo=UTC)  # nine in Berlin
THURSDAY = "2026-03-05T09:00"


def make_task(**fields: Any) -> Task:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    task: Task = TaskFactory(title="Report", **{"recurrence": "weekdays"} | fields)
    task_events.create_events([task], by="owner", at=MADE_AT)
    return task


@pytest.fixture
def task(db: None) -> Task:
    """Work of two hours on weekdays at nine in Berlin, from Monday, 2 March 2026."""
    return make_task(start_at=MONDAY, due_at=MONDAY + timedelta(hours=2))


def update(task: Task, **args: Any) -> Any:
    return call_handler("update_onto_task", task_id=str(task.pk), **args)


def delete(task: Task, **args: Any) -> Any:
    return call_handler("delete_onto_task", task_id=str(task.pk), **args)


def list_events(until: str = "2026-03-09") -> list[str]:
    """Return day, time and title of each occurrence of an event."""
    rows = call_handler("list_calendar_events", time_min="2026-03-02", time_max=until, limit=50, fields=["*"]).result[
        "events"
    ]
    return [f"{row['start_at'][8:16].replace('T', ' ')} {row['title']}" for row in rows]


def get_error(task: Task, call: Any = update, **args: Any) -> tuple[str, str]:
    error = get_field_error(lambda: call(task, **args))
    return error.path, error.code


def test_one_occurrence_is_cancelled(task: Task) -> None:
    outcome = delete(task, scope="this", occurrence_start=THURSDAY)

    assert list_events() == [f"{day} 09:00 Report" for day in ("02", "03", "04", "06", "09")]
    assert outcome.result == {
        "task": {"id": str(task.pk)},
        "message": "Deleted the occurrence 2026-03-05T09:00:00+01:00 only of “Report”; the others stay.",
    }
    assert get_error(task, delete, scope="this", occurrence_start=THURSDAY) == ("/occurrence_start", "no_occurrence")


def test_deleting_asks_which_occurrences(task: Task) -> None:
    event = str(CalendarEvent.objects.get().pk)

    assert get_error(task, delete) == ("/scope", "missing")
    with pytest.raises(InvalidArgs):
        call_handler("delete_calendar_event", event_id=event)
    delete(task, scope="all")
    assert list_events() == []
    delete(TaskFactory(recurrence="daily"))  # without a date there are no occurrences to choose
    assert Task.objects.alive().count() == 0


def test_this_and_later_occurrences_are_cancelled(task: Task) -> None:
    delete(task, scope="following", occurrence_start="2026-03-05")

    assert list_events() == [f"{day} 09:00 Report" for day in ("02", "03", "04")]
    # From the first on, they are all.
    delete(task, scope="following", occurrence_start="2026-03-02")
    assert list_events() == []
    assert Task.objects.alive().count() == 0


def test_changed_occurrence_becomes_a_task_of_its_own(task: Task) -> None:
    other = TaskFactory(project=task.project)
    link = {"src_kind": "task", "src_id": str(task.pk), "dst_kind": "task", "dst_id": str(other.pk)}
    call_handler("link_onto_entities", rel="depends_on", **link)

    outcome = update(
        task, scope="this", occurrence_start=THURSDAY, start_at="2026-03-05T14:00", due_at="2026-03-05T15:00"
    )

    new = Task.objects.get(pk=outcome.result["task"]["id"])
    assert list_events() == [
        *(f"{day} 09:00 Report" for day in ("02", "03", "04")),
        "05 14:00 Report",
        *(f"{day} 09:00 Report" for day in ("06", "09")),
    ]
    assert (new.title, new.recurrence, new.pk != task.pk) == ("Report", "", True)
    assert list(Edge.objects.filter(src_id=new.pk).values_list("rel", "dst_id")) == [("depends_on", other.pk)]
    assert outcome.result["message"] == (
        f"The occurrence 2026-03-05T09:00:00+01:00 only of “Report” is now the task {new.pk}; the others stay."
        " Changed “Report”: start_at 2026-03-05T08:00:00Z → 2026-03-05T13:00:00Z,"
        " due_at 2026-03-05T10:00:00Z → 2026-03-05T14:00:00Z."
    )


def test_one_occurrence_is_done(task: Task) -> None:
    outcome = update(task, scope="this", occurrence_start="2026-03-02", state_key="done")

    task.refresh_from_db()
    assert (task.state_key, outcome.result["task"]["state_key"]) == ("todo", "done")
    assert (outcome.warnings, task.start_at) == ((), MONDAY + timedelta(days=1))
    assert list_events("2026-03-03") == ["02 09:00 Report", "03 09:00 Report"]


def test_task_whose_next_occurrence_is_skipped_has_the_dates_of_the_one_after(task: Task) -> None:
    delete(task, scope="this", occurrence_start="2026-03-04")
    delete(task, scope="this", occurrence_start="2026-03-02")
    delete(task, scope="this", occurrence_start="2026-03-03")

    task.refresh_from_db()
    assert (task.start_at, task.due_at) == (MONDAY + timedelta(days=3), MONDAY + timedelta(days=3, hours=2))
    assert list_events() == [f"{day} 09:00 Report" for day in ("05", "06", "09")]


def test_month_keeps_its_day_when_the_first_occurrence_is_skipped(db: None) -> None:
    task = make_task(due_at=datetime(2026, 1, 31, 8, tzinfo=UTC), recurrence="monthly")

    delete(task, scope="this", occurrence_start="2026-01-31")

    rows = call_handler("list_calendar_events", time_min="2026-01-01", time_max="2026-04-30", fields=["*"]).result[
        "events"
    ]
    assert [row["start_at"][:10] for row in rows] == ["2026-02-28", "2026-03-31", "2026-04-30"]
    delete(task, scope="following", occurrence_start="2026-02-28")  # the first that is left, so all
    assert Task.objects.alive().count() == 0


@for_each(
    "rule, start, due, occurrence",
    [
        ("monthly", "2026-01-29T11:00:00Z", "2026-01-31T08:00:00Z", "2026-02-28"),  # February lacks both days
        ("monthly", "2026-01-30T08:00:00Z", "2026-01-31T11:00:00Z", "2026-02-28"),  # two events become one
        ("weekdays", "2026-03-06T16:00:00Z", "2026-03-07T11:00:00Z", "2026-03-09"),  # no due date on a weekend
    ],
)
@for_each("scope", ["this", "following"], undone=True)
def test_any_occurrence_can_be_changed(db: None, rule: str, start: str, due: str, occurrence: str, scope: str) -> None:
    dates = {"start_at": datetime.fromisoformat(start), "due_at": datetime.fromisoformat(due)}
    task = make_task(**dates, recurrence=rule)
    event = task_series.find_event(task)
    assert event is not None

    update(task, scope=scope, occurrence_start=occurrence, priority=1)
    call_handler(
        "update_calendar_event",
        event_id=str(event.pk),
        scope="this",
        occurrence_start=start[:10],
        start_at=f"{start[:11]}09:30",
    )

    assert all(each.due_at and each.start_at and each.due_at >= each.start_at for each in Task.objects.all())


def test_month_keeps_its_due_day_when_the_first_occurrence_is_skipped(db: None) -> None:
    dates = {"start_at": datetime(2026, 1, 28, 8, tzinfo=UTC), "due_at": datetime(2026, 1, 31, 16, tzinfo=UTC)}
    task = make_task(**dates, recurrence="monthly")

    delete(task, scope="this", occurrence_start="2026-01-28")

    task.refresh_from_db()
    assert (task.start_at, task.due_at) == (dates["start_at"], dates["due_at"])


@for_each(
    "rule, start, due, occurrence, last",
    [
        ("weekdays", "2026-03-06T08:00:00Z", "2026-03-09T08:00:00Z", "2026-03-09", "09 08:30 Due: Report"),
        ("weekly", "2026-03-13T08:00:00Z", "2026-03-16T08:00:00Z", "2026-03-27", "23 08:30 Due: Report"),
    ],
    undone=True,
)
def test_no_due_date_is_left_of_cancelled_occurrences(
    db: None, rule: str, start: str, due: str, occurrence: str, last: str
) -> None:
    dates = {"start_at": datetime.fromisoformat(start), "due_at": datetime.fromisoformat(due)}
    task = make_task(**dates, recurrence=rule)

    delete(task, scope="following", occurrence_start=occurrence)

    assert list_events("2026-04-20")[-1] == last


def test_skipped_occurrences_survive_a_task_that_was_finished_too_early(db: None) -> None:
    task = make_task(due_at=MONDAY + timedelta(days=4), recurrence="daily")
    delete(task, scope="this", occurrence_start="2026-03-08")

    update(task, state_key="done", scope="all")
    assert get_error(task, scope="this", occurrence_start="2026-03-07", title="N") == ("/scope", "no_dates")
    update(task, state_key="todo")

    assert list_events() == ["06 08:30 Due: Report", "07 08:30 Due: Report", "09 08:30 Due: Report"]


@for_each(
    "due_at, occurrence, days",
    [
        (MONDAY, "2026-03-03T09:00", ["02", "04", "05", "06"]),
        (datetime(2026, 3, 2, 23, tzinfo=UTC), "2026-03-04", ["02", "04", "05", "06"]),  # 3 March, 0:00 in Berlin
    ],
    undone=True,
)
def test_occurrence_is_found_by_the_due_date(db: None, due_at: datetime, occurrence: str, days: list[str]) -> None:
    task = make_task(due_at=due_at, recurrence="daily")

    delete(task, scope="this", occurrence_start=occurrence)

    assert [each[:2] for each in list_events("2026-03-06")] == days


def test_changed_occurrence_keeps_what_only_its_event_has(task: Task) -> None:
    CalendarEvent.objects.update(location="Room 2", attendees=["Ines"], description="Agenda")

    outcome = update(task, scope="following", occurrence_start=THURSDAY, title="Long")

    event = CalendarEvent.objects.get(task=outcome.entity_id)
    assert (event.location, event.attendees, event.description) == ("Room 2", ["Ines"], "Agenda")
    assert outcome.changed_ids == (str(task.pk), outcome.entity_id)


def test_series_without_an_occurrence_is_deleted(db: None) -> None:
    task = make_task(due_at=MONDAY, recurrence_until=MONDAY + timedelta(days=1), recurrence="daily")

    delete(task, scope="this", occurrence_start="2026-03-02")
    last = delete(task, scope="this", occurrence_start="2026-03-03")

    assert last.result["message"].endswith("it was the last one, so the series is deleted.")
    assert (list_events(), Task.objects.alive().count()) == ([], 0)


def test_finishing_asks_which_occurrences_are_done(task: Task) -> None:
    saturday = datetime(2026, 3, 7, 12, tzinfo=UTC)
    error, without_one = (get_field_error(lambda at=at: update(task, state_key="done", at=at)) for at in (AT, saturday))

    assert (error.path, error.code) == ("/scope", "missing")
    assert error.message.startswith("It recurs weekdays, so say which occurrences are done. Send scope: this for one")
    assert error.send == {"scope": "this", "occurrence_start": "2026-03-02T09:00:00+01:00"}  # today's
    assert (without_one.send, "2026-03-09T09:00" in without_one.message) == (None, True)

    update(task, state_key="done", **error.send)
    expected = [("done", MONDAY), ("todo", MONDAY + timedelta(days=1))]
    assert list(Task.objects.order_by("start_at").values_list("state_key", "start_at")) == expected


def test_changing_or_finishing_all_of_a_series_is_warned_about(task: Task) -> None:
    moved, renamed = update(task, due_at="2026-03-02T12:00"), update(task, title="New")
    finished = update(task, state_key="done", scope="all")

    assert moved.warnings[-1] == (
        "The task recurs, so all later occurrences also move. "
        "To move only one, send scope this with its occurrence_start."
    )
    assert renamed.warnings == ("The task recurs, so all its occurrences changed.",)
    assert finished.warnings[-1] == "The task recurs, and no later occurrence remains."
    assert update(task, state_key="done", title="Newer").warnings == ()
    assert update(TaskFactory(), state_key="done").warnings == ()


def test_deleting_a_task_says_what_hangs_on_it(task: Task) -> None:
    other = TaskFactory(project=task.project, title="Print")
    for number in range(4):
        TaskFactory(project=task.project, parent_task=task, title=f"Part {number}")
    link = {"src_kind": "task", "src_id": str(task.pk), "dst_kind": "task", "dst_id": str(other.pk)}
    call_handler("link_onto_entities", rel="depends_on", **link)

    message = delete(task, scope="all").result["message"]

    assert message == (
        "Deleted the task “Report”; ops no longer find it. It recurred weekdays, so all its occurrences are gone. "
        "4 subtasks stay without a parent: “Part 0”, “Part 1”, “Part 2”, …. "
        "Its link to the task “Print” was removed; the task stays."
    )


def test_deleting_a_task_names_the_kinds_of_the_rows_that_lose_a_link(task: Task) -> None:
    others = [factory(project=task.project, title="Old notes") for factory in (DocumentFactory, RiskFactory)]
    for other, kind in zip(others, ("document", "risk"), strict=True):
        link = {"src_kind": "task", "src_id": str(task.pk), "dst_kind": kind, "dst_id": str(other.pk)}
        call_handler("link_onto_entities", rel="relates_to", **link)

    message = delete(task, scope="all").result["message"]

    # Links of the same moment come in the order of their random ids.
    ends = ["the document “Old notes”", "the risk “Old notes”"]
    assert any(
        f"Its 2 links were removed: to {', '.join(named)}; these stay." in message for named in (ends, ends[::-1])
    )


def test_this_and_later_occurrences_are_changed(task: Task) -> None:
    delete(task, scope="this", occurrence_start="2026-03-06")

    outcome = update(task, scope="following", occurrence_start=THURSDAY, title="Long report", fields=["recurrence"])

    assert list_events("2026-03-10") == [
        *(f"{day} 09:00 Report" for day in ("02", "03", "04")),
        *(f"{day} 09:00 Long report" for day in ("05", "09", "10")),  # what was cancelled stays so
    ]
    assert outcome.result["task"]["recurrence"] == "weekdays"


def test_cancelled_occurrence_stays_cancelled_when_the_task_moves(task: Task) -> None:
    delete(task, scope="this", occurrence_start=THURSDAY)

    update(task, start_at="2026-03-02T07:00", due_at="2026-03-02T08:00")

    assert list_events() == [f"{day} 07:00 Report" for day in ("02", "03", "04", "06", "09")]
    # Another rule has other occurrences.
    update(task, recurrence="daily")
    assert len(list_events()) == 8


@for_each(
    "cancelled, start, left",
    [
        ("2026-03-05", "2026-03-03", ["03", "04", "06", "09"]),
        ("2026-03-05", "2026-03-05", ["05", "06", "09"]),  # the new first one is not cancelled any longer
        ("2026-03-03", "2026-03-05", ["05", "06", "09"]),
    ],
    undone=True,
)
def test_cancelled_day_stays_cancelled_when_the_task_moves_by_days(
    task: Task, cancelled: str, start: str, left: list[str]
) -> None:
    delete(task, scope="this", occurrence_start=cancelled)

    update(task, start_at=f"{start}T09:00", due_at=f"{start}T11:00")

    assert [each[:2] for each in list_events()] == left


def test_cancelled_day_stays_cancelled_when_tasks_shift(task: Task) -> None:
    delete(task, scope="this", occurrence_start=THURSDAY)

    call_handler("shift_onto_tasks", task_ids=[str(task.pk)], days=1)

    assert [each[:2] for each in list_events()] == ["03", "04", "06", "09"]


def test_start_and_due_date_of_an_occurrence_belong_together(db: None) -> None:
    """The one on Friday is due on Monday."""
    friday = datetime(2026, 3, 6, 8, tzinfo=UTC)
    task = make_task(start_at=friday, due_at=friday + timedelta(days=3))

    delete(task, scope="this", occurrence_start="2026-03-09")  # it is due on Tuesday

    assert list_events("2026-03-11") == [
        "06 09:00 Start: Report",
        "09 08:30 Due: Report",
        "10 09:00 Start: Report",
        "11 08:30 Due: Report",
        "11 09:00 Start: Report",
    ]


def test_event_of_a_task_cancels_and_moves_one_occurrence_too(task: Task) -> None:
    event = str(CalendarEvent.objects.get().pk)

    call_handler("delete_calendar_event", event_id=event, scope="this", occurrence_start="2026-03-03")
    moved = call_handler(
        "update_calendar_event", event_id=event, scope="this", occurrence_start=THURSDAY, start_at="2026-03-05T16:00"
    ).result

    assert list_events("2026-03-06") == ["02 09:00 Report", "04 09:00 Report", "05 16:00 Report", "06 09:00 Report"]
    task.refresh_from_db()
    assert task.start_at == MONDAY
    new = Task.objects.exclude(pk=task.pk).get()
    assert (new.start_at, new.recurrence) == (datetime(2026, 3, 5, 15, tzinfo=UTC), "")
    assert f"is now the task {new.pk}; the others stay. Changed “Report”: start_at" in moved["message"]


@for_each("tool", ["update_onto_task", "update_calendar_event"], undone=True)
def test_occurrence_stays_in_the_series_if_nothing_changes(task: Task, tool: str) -> None:
    event = CalendarEvent.objects.get()
    same = {"task_id": str(task.pk)} if "task" in tool else {"event_id": str(event.pk)}

    outcome = call_handler(tool, scope="this", occurrence_start=THURSDAY, start_at=THURSDAY, **same)

    assert "unchanged" in outcome.warnings
    assert outcome.entity_id == next(iter(same.values()))
    assert Task.objects.count() == 1
    task.refresh_from_db()
    assert task.skipped_occurrences == []


def test_scope_needs_an_occurrence(task: Task) -> None:
    assert get_error(task, scope="this", title="New") == ("/occurrence_start", "missing")
    expected = ("/occurrence_start", "no_occurrence")
    assert get_error(task, scope="this", occurrence_start="2026-03-07", title="N") == expected
    assert get_error(task, scope="this", occurrence_start=THURSDAY, recurrence="daily") == ("/scope", "not_recurring")
    assert get_error(task, occurrence_start=THURSDAY, title="N") == ("/scope", "missing")
    assert get_error(task, delete, occurrence_start=THURSDAY) == ("/scope", "missing")
    undated = TaskFactory(recurrence="daily")
    assert get_error(undated, scope="this", occurrence_start=THURSDAY, title="N") == ("/scope", "no_dates")
    # Of a task that does not recur, there is only one.
    once = TaskFactory(title="Once")
    assert update(once, scope="this", title="New").result["task"] == {"id": str(once.pk), "title": "New"}
