"""Ops on one event: get, create, update, delete; and the task whose dates it shows."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.handler_contract import NotFound, StateConflict
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    EventFactory,
    MembershipFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import AT, call_handler, get_field_error, list_field_errors
from workspace.models import CalendarEvent, MemberRole, Task
from workspace.services.calendar import task_events

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
HALF, DAY = timedelta(minutes=30), timedelta(days=1)
RANGE = {"start_at": NOON, "due_at": NOON + HALF}  # of a task with one event
APART = {"start_at": NOON, "due_at": NOON + 3 * DAY}  # of a task with two events


def create(**args: Any) -> Any:
    sent = {"title": "Lunch", "start_at": "2026-03-04T12:00:00Z", "fields": ["*"]}
    return call_handler("create_calendar_event", **(sent | args))


def update(event: CalendarEvent, **args: Any) -> Any:
    return call_handler("update_calendar_event", event_id=str(event.pk), **args)


def make_own_event(**fields: Any) -> CalendarEvent:
    return EventFactory(**({"project": None, "subject": "owner", "start_at": NOON} | fields))


def make_task_event(kind: str, **dates: datetime | None) -> tuple[Task, CalendarEvent]:
    task = TaskFactory(title="Write", **dates)
    task_events.sync_events([task], by="owner", at=MADE_AT)
    return task, task.events.get(task_event_kind=kind)


def test_duration_sets_the_end(db: None) -> None:
    created = create(duration_minutes=90).result["event"]
    event = CalendarEvent.objects.get()
    longer = update(event, duration_minutes=120, fields=["start_at", "end_at"]).result["event"]
    moved = update(event, start_at="2026-03-04T15:00:00Z", duration_minutes=15).result["event"]

    assert created["end_at"] == "2026-03-04T13:30:00Z"
    assert (longer["start_at"], longer["end_at"]) == ("2026-03-04T12:00:00Z", "2026-03-04T14:00:00Z")
    assert (moved["start_at"], moved["end_at"]) == ("2026-03-04T15:00:00Z", "2026-03-04T15:15:00Z")


@for_each(
    "args, code",
    [({"end_at": "2026-03-04T13:00:00Z"}, "two_ends"), ({"start_at": "2026-03-04"}, "whole_days")],
    undone=True,
)
def test_duration_is_refused_beside_an_end_and_for_whole_days(db: None, args: dict[str, str], code: str) -> None:
    assert list_field_errors(lambda: create(duration_minutes=90, **args)) == [("/duration_minutes", code)]


def test_overlaps_are_told_when_an_event_is_created_or_moved(db: None) -> None:
    make_own_event(title="Dentist")

    created = create(title="Lunch", start_at="2026-03-04T12:30:00Z")
    event = CalendarEvent.objects.get(title="Lunch")
    apart = update(event, start_at="2026-03-04T15:00:00Z")
    elsewhere = update(event, location="Café")
    back = update(event, start_at="2026-03-04T11:45:00Z")

    expected = (
        "Overlaps with “Dentist” (2026-03-04T12:00:00Z to 2026-03-04T13:00:00Z); cal.slot.find returns free times."
    )
    assert (created.warnings, apart.warnings, elsewhere.warnings, back.warnings) == ((expected,), (), (), (expected,))
    is_free = ["Nothing overlaps." in each.result["message"] for each in (created, apart, elsewhere, back)]
    assert is_free == [False, True, False, False]


def test_only_an_event_with_a_time_is_a_conflict(db: None) -> None:
    make_own_event(title="Dentist")

    assert create(title="Fair", start_at="2026-03-04", end_at="2026-03-05").warnings == ()
    dinner = create(title="Dinner", start_at="2026-03-04T18:00:00Z")
    [both] = create(title="Lunch", start_at="2026-03-04T12:30:00Z").warnings

    assert dinner.warnings == ()
    assert dinner.result["message"].endswith(" Nothing overlaps. All day: “Fair” (2026-03-04 to 2026-03-05).")
    assert both.startswith("Overlaps with “Dentist” (2026-03-04T12:00:00Z to 2026-03-04T13:00:00Z);")


# --- get


def test_complete_event_has_all_fields_with_null_for_empty_ones(db: None) -> None:
    event = make_own_event(attendees=["Ines"], description="Table by the window")

    result = call_handler("get_calendar_event_details", event_id=str(event.pk))

    assert result.result["event"] == {
        "id": str(event.pk),
        "title": event.title,
        "description": "Table by the window",
        **dict.fromkeys(("location", "recurrence", "recurrence_until", "project_id", "project_name")),
        "linked_task_id": None,
        "task_event_kind": None,
        "attendees": ["Ines"],
        "time_zone": "UTC",
        "calendar_scope": "user",
        "start_at": "2026-03-04T12:00:00Z",
        "end_at": "2026-03-04T13:00:00Z",
        "is_all_day": False,
        "props": {},
        "created_by": "owner",
        "created_at": "2026-03-01T09:00:00Z",
        "updated_at": "2026-03-01T09:00:00Z",
    }
    assert (result.entity_id, result.entity_name) == (str(event.pk), event.title)


# --- create


def test_new_event_belongs_to_the_subject_and_lasts_half_an_hour(db: None) -> None:
    outcome = create(description="", location="Café", attendees=["Ines", "Ines"])

    event = CalendarEvent.objects.get()
    assert (event.subject, event.project, event.start_at, event.end_at) == ("owner", None, NOON, NOON + HALF)
    assert (event.location, event.attendees, event.created_by, event.created_at) == ("Café", ["Ines"], "owner", AT)
    assert outcome.result["message"] == "Created the event “Lunch” in the user's own calendar. Nothing overlaps."
    assert (outcome.entity_id, outcome.entity_name) == (str(event.pk), "Lunch")


def test_time_without_offset_is_local_to_the_subject_or_the_sent_zone(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="America/New_York")

    mine = create(start_at="2026-03-04T12:00").result["event"]
    theirs = create(start_at="2026-03-04T12:00", time_zone="Asia/Tokyo").result["event"]

    assert (mine["start_at"], mine["time_zone"]) == ("2026-03-04T12:00:00-05:00", "America/New_York")
    assert (theirs["start_at"], theirs["time_zone"]) == ("2026-03-04T12:00:00+09:00", "Asia/Tokyo")


@for_each(
    "local, expected, word",
    [
        ("2026-03-29T02:30", "2026-03-29T03:30:00+02:00", "skip"),
        ("2026-10-25T02:30", "2026-10-25T02:30:00+02:00", "twice"),
    ],
    undone=True,
)
def test_skipped_or_repeated_local_time_causes_a_warning(db: None, local: str, expected: str, word: str) -> None:
    outcome = create(start_at=local, time_zone="Europe/Berlin")

    assert outcome.result["event"]["start_at"] == expected
    assert word in outcome.warnings[0]
    assert expected in outcome.warnings[0]


def test_dates_create_a_whole_day_event_including_the_last_day(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Pacific/Auckland")

    one = create(start_at="2026-03-05").result["event"]
    two = create(start_at="2026-03-05", end_at="2026-03-06").result["event"]

    assert (one["start_at"], one["end_at"], one["is_all_day"]) == ("2026-03-05", "2026-03-05", True)
    assert (two["start_at"], two["end_at"], two["is_all_day"]) == ("2026-03-05", "2026-03-06", True)


def test_event_of_a_project_or_task_is_in_the_project(db: None) -> None:
    project, task = ProjectFactory(name="Garden"), TaskFactory()

    ours = create(project_id=str(project.pk))
    of_a_task = create(task_id=str(task.pk)).result["event"]

    assert ours.result["event"]["project_name"] == "Garden"
    assert ours.result["message"] == "Created the event “Lunch” in the project's calendar. Nothing overlaps."
    assert (of_a_task["project_id"], of_a_task["linked_task_id"]) == (str(task.project_id), str(task.pk))
    assert of_a_task["task_event_kind"] is None
    task.refresh_from_db()
    assert (task.start_at, task.due_at) == (None, None)  # time for a task is not its start or due date


@for_each("args", [{"calendar_scope": "user"}, {"calendar_id": "primary"}], undone=True)
def test_requested_own_calendar_or_task_overrides_the_context_project(db: None, args: dict[str, str]) -> None:
    task, context = TaskFactory(), {"project_id": str(ProjectFactory().pk)}

    own = create(**context, **args)
    of_a_task = create(**context, task_id=str(task.pk), start_at="2026-03-05T12:00:00Z")

    assert own.result["event"]["calendar_scope"] == "user"
    assert of_a_task.result["event"]["project_id"] == str(task.project_id)
    assert all("Ignored project_id" in outcome.warnings[0] for outcome in (own, of_a_task))


@for_each(
    "args, expected",
    [
        ({"end_at": "2026-03-04T12:00:00Z"}, [("/end_at", "out_of_order")]),
        ({"end_at": "2026-03-04"}, [("/end_at", "mixed")]),
        ({"start_at": "2026-03-05", "end_at": "2026-03-04"}, [("/end_at", "out_of_order")]),
        ({"start_at": "2026-03-05", "end_at": "2027-03-06"}, [("/end_at", "too_long")]),
        ({"end_at": "2027-04-04T12:00:00Z"}, [("/end_at", "too_long")]),
        ({"start_at": "1899-12-31T12:00:00Z"}, [("/start_at", "impossible_time")]),
        ({"start_at": "2200-01-01"}, [("/start_at", "impossible_time")]),
        ({"start_at": "0001-01-01T00:00+10:00"}, [("/start_at", "impossible_time")]),
        ({"title": " "}, [("/title", "blank")]),
        ({"time_zone": "Mars/Base"}, [("/time_zone", "unknown_zone")]),
        ({"recurrence_until": "2026-04-01"}, [("/recurrence_until", "not_recurring")]),
        ({"recurrence": "daily", "recurrence_until": "2026-03-03"}, [("/recurrence_until", "out_of_order")]),
        ({"recurrence": "weekdays", "start_at": "2026-03-07"}, [("/start_at", "weekend")]),
        # Friday afternoon in UTC is Saturday there, and recurrence follows the local time.
        (
            {"recurrence": "weekdays", "start_at": "2026-03-06T15:30:00Z", "time_zone": "Asia/Tokyo"},
            [("/start_at", "weekend")],
        ),
        ({"calendar_scope": "project"}, [("/project_id", "required")]),
        ({"calendar_scope": "calendar_id"}, [("/calendar_id", "required")]),
        ({"task_id": str(uuid4()), "calendar_scope": "user"}, [("/task_id", "other_calendar")]),
        # All errors are reported together.
        ({"title": " ", "start_at": "2200-01-01"}, [("/title", "blank"), ("/start_at", "impossible_time")]),
    ],
    undone=True,
)
def test_create_refuses_an_invalid_event(db: None, args: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert list_field_errors(lambda: create(**args)) == expected
    assert not CalendarEvent.objects.exists()


def test_recurrence_of_whole_days_ends_on_that_day_in_any_zone(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="America/New_York")
    event = make_own_event(
        start_at=None, end_at=None, start_date=date(2026, 3, 4), end_date=date(2026, 3, 4), recurrence="daily"
    )
    event.time_zone = "Asia/Tokyo"
    event.save()

    update(event, recurrence_until="2026-03-06")
    before = days()
    update(event, time_zone="Pacific/Honolulu")
    update(event, time_zone="Pacific/Auckland")

    assert before == days() == ["2026-03-04", "2026-03-05", "2026-03-06"]


def days() -> list[str]:
    march = {"time_min": "2026-03-01", "time_max": "2026-03-20"}
    listed = call_handler("list_calendar_events", fields=["start_at"], **march).result["events"]
    return [event["start_at"] for event in listed]


# --- access


def test_event_disappears_with_its_project_task_or_membership(db: None) -> None:
    task = TaskFactory()
    event = EventFactory(project=task.project, task=task)
    member = MembershipFactory(project=task.project, subject="left", role=MemberRole.EDITOR)
    id = str(event.pk)
    assert call_handler("get_calendar_event_details", subject="left", event_id=id)

    for row, field in ((member, "deleted_at"), (task, "deleted_at"), (task.project, "deleted_at")):
        setattr(row, field, MADE_AT)
        row.save()
        with pytest.raises(NotFound):
            call_handler("get_calendar_event_details", subject="left" if row is member else "owner", event_id=id)
        setattr(row, field, None)
        row.save()
    assert call_handler("get_calendar_event_details", event_id=id)


# --- update


@for_each(
    "args, start, end",
    [
        ({"start_at": "2026-03-05T09:00:00Z"}, NOON + timedelta(hours=21), NOON + timedelta(hours=22)),  # moved
        ({"end_at": "2026-03-04T15:00:00Z"}, NOON, NOON + timedelta(hours=3)),  # longer
        ({"start_at": "2026-03-05", "end_at": "2026-03-06"}, date(2026, 3, 5), date(2026, 3, 6)),
        ({"start_at": "2026-03-05"}, NOON + timedelta(days=1), NOON + timedelta(days=1, hours=1)),  # at the same time
    ],
    undone=True,
)
def test_update_of_start_moves_the_event_and_of_end_changes_its_length(
    db: None, args: dict[str, str], start: Any, end: Any
) -> None:
    event = make_own_event()

    update(event, **args)

    event.refresh_from_db()
    assert (event.start_date or event.start_at, event.end_date or event.end_at) == (start, end)
    assert (event.is_all_day, event.updated_at) == (not isinstance(start, datetime), AT)


def test_whole_day_event_can_become_timed_and_keeps_its_length_when_moved(db: None) -> None:
    event = make_own_event(start_at=None, end_at=None, start_date=date(2026, 3, 5), end_date=date(2026, 3, 7))

    moved = update(event, start_at="2026-04-01").result["event"]
    timed = update(event, start_at="2026-04-01T09:00").result["event"]

    assert (moved["start_at"], moved["end_at"]) == ("2026-04-01", "2026-04-03")
    assert (timed["start_at"], timed["end_at"]) == ("2026-04-01T09:00:00Z", "2026-04-01T09:30:00Z")


@for_each("end", ["2026-03-05", "2026-03-04T11:00:00Z"], undone=True)
def test_update_refuses_an_end_that_does_not_fit_the_start(db: None, end: str) -> None:
    event = make_own_event()

    assert list_field_errors(lambda: update(event, end_at=end))[0][0] == "/end_at"


def test_update_clears_with_null_and_names_changed_fields(db: None) -> None:
    event = make_own_event(description="d", location="l", attendees=["a"], recurrence="daily", recurrence_until=NOON)

    cleared = {"description": None, "location": None, "attendees": None, "recurrence": None}
    outcome = update(event, **cleared)

    event.refresh_from_db()
    assert (event.description, event.location, event.attendees, event.recurrence) == ("", "", [], "")
    assert event.recurrence_until is None
    assert outcome.result["message"] == (
        f"Changed “{event.title}”: description d → none, location l → none, attendees [a] → none,"
        " recurrence daily → none, recurrence_until 2026-03-04T12:00:00Z → none. Nothing overlaps."
    )


def test_moving_a_recurring_event_warns_that_all_occurrences_moved(db: None) -> None:
    event = make_own_event(recurrence="weekly")

    moved = update(event, scope="all", start_at="2026-03-05T09:00:00Z").result["message"]
    elsewhere = update(event, location="Café").result["message"]

    assert moved == (
        f"Changed “{event.title}”: start_at 2026-03-04T12:00:00Z → 2026-03-05T09:00:00Z,"
        " end_at 2026-03-04T13:00:00Z → 2026-03-05T10:00:00Z."
        " It recurs, so all its occurrences changed; the first is 2026-03-05T09:00:00Z."
        " Nothing overlaps until 2026-04-02."
    )
    assert elsewhere == (f"Changed “{event.title}”: location none → Café. It recurs, so all its occurrences changed.")


def test_weekday_recurrence_cannot_start_on_a_weekend(db: None) -> None:
    weekdays, once = make_own_event(recurrence="weekdays"), make_own_event(start_at=NOON + timedelta(days=3))

    for event, args in ((weekdays, {"start_at": "2026-03-07T12:00:00Z"}), (once, {"recurrence": "weekdays"})):
        error = get_field_error(lambda event=event, args=args: update(event, scope="all", **args))
        assert (error.path, error.code) == ("/start_at", "weekend")
        assert "is a Saturday" in error.message


def test_update_with_equal_values_changes_nothing_and_warns(db: None) -> None:
    event = make_own_event(attendees=["a"])

    outcome = update(event, title=event.title, start_at="2026-03-04T12:00:00Z", attendees=[])

    event.refresh_from_db()
    assert outcome.warnings == ("unchanged",)
    assert (outcome.result["event"], event.updated_at) == ({"id": str(event.pk), "title": event.title}, MADE_AT)


# --- events of task dates


@for_each(
    "kind, dates, args, expected",
    [
        ("start", {"start_at": NOON}, {"start_at": "2026-03-05T12:00:00Z"}, {"start_at": NOON + timedelta(days=1)}),
        ("start", {"start_at": NOON}, {"end_at": "2026-03-05T12:30:00Z"}, {"start_at": NOON + timedelta(days=1)}),
        ("due", {"due_at": NOON}, {"end_at": "2026-03-05T12:00:00Z"}, {"due_at": NOON + timedelta(days=1)}),
        ("due", {"due_at": NOON}, {"start_at": "2026-03-05T11:30:00Z"}, {"due_at": NOON + timedelta(days=1)}),
        ("range", RANGE, {"start_at": "2026-03-05T12:00:00Z"}, {"start_at": NOON + DAY, "due_at": NOON + DAY + HALF}),
        ("range", RANGE, {"end_at": "2026-03-04T14:00:00Z"}, {"start_at": NOON, "due_at": NOON + 4 * HALF}),
    ],
    undone=True,
)
def test_moving_a_task_date_event_moves_the_task_date(
    db: None, kind: str, dates: dict[str, Any], args: dict[str, str], expected: dict[str, datetime]
) -> None:
    task, event = make_task_event(kind, **dates)

    outcome = update(event, fields=["task_event_kind"], **args)

    task.refresh_from_db()
    assert {name: getattr(task, name) for name in expected} == expected
    assert task.updated_at == AT
    assert "of its task" in outcome.result["message"]
    assert outcome.warnings == ()
    shown = outcome.result["event"]
    assert (shown["id"], shown["task_event_kind"]) == (str(event.pk), kind)
    assert task.events.filter(deleted_at=None).count() == 1


def test_task_date_event_keeps_its_half_hour_and_warns(db: None) -> None:
    _, event = make_task_event("due", due_at=NOON)

    outcome = update(event, start_at="2026-03-05T08:00:00Z", end_at="2026-03-05T12:00:00Z")

    assert outcome.result["event"]["start_at"] == "2026-03-05T11:30:00Z"
    assert "Ignored start_at" in outcome.warnings[0]


def test_close_start_and_due_events_become_one(db: None) -> None:
    task, event = make_task_event("due", start_at=NOON, due_at=NOON + timedelta(days=3))

    outcome = update(event, end_at="2026-03-04T16:00:00Z")

    [range_event] = task.events.filter(deleted_at=None)
    assert outcome.result["event"]["id"] == str(range_event.pk) == outcome.entity_id
    expected = ("range", NOON, NOON + timedelta(hours=4))
    assert (range_event.task_event_kind, range_event.start_at, range_event.end_at) == expected
    assert outcome.warnings == () if range_event.pk == event.pk else "one event shows both" in outcome.warnings[0]


@for_each(
    "fields, end_at, error",
    [
        (APART, "2026-03-03T12:00:00Z", ("/end_at", "out_of_order")),
        ({"due_at": MADE_AT - HALF, "state_key": "done"}, "2026-03-20T12:00:00Z", ("/start_at", "after_it_was_done")),
    ],
    undone=True,
)
def test_task_checks_apply_to_its_event(db: None, fields: dict[str, Any], end_at: str, error: tuple[str, str]) -> None:
    _, event = make_task_event("due", **fields)

    assert list_field_errors(lambda: update(event, end_at=end_at)) == [error]


def test_task_event_cannot_be_moved_past_its_recurrence_end(db: None) -> None:
    _, event = make_task_event("due", due_at=NOON, recurrence="daily", recurrence_until=NOON + timedelta(days=3))

    error = get_field_error(lambda: update(event, scope="all", start_at="2026-03-20T12:00:00Z"))

    assert (error.path, error.code) == ("/start_at", "out_of_order")
    assert "recurrence_until with onto.task.update" in error.message


@for_each(
    "args",
    [
        {"title": "Mine"},
        {"recurrence": "daily"},
        {"recurrence_until": None},
        {"start_at": "2026-03-05", "end_at": "2026-03-05"},
    ],
    undone=True,
)
def test_update_refuses_fields_that_belong_to_the_task(db: None, args: dict[str, Any]) -> None:
    _, event = make_task_event("due", due_at=NOON)

    assert list_field_errors(lambda: update(event, **args)) == [(f"/{next(iter(args))}", "of_the_task")]


def test_task_date_event_has_its_own_location_and_description(db: None) -> None:
    task, event = make_task_event("due", due_at=NOON)

    outcome = update(event, location="Library", description="Bring the charger")
    call_handler("update_onto_task", task_id=str(task.pk), title="Rewrite")

    event.refresh_from_db()
    task.refresh_from_db()
    assert outcome.result["message"] == (
        "Changed “Due: Write”: description none → “Bring the charger”, location none → Library."
    )
    assert (event.title, event.location, event.description) == ("Due: Rewrite", "Library", "Bring the charger")


@for_each(
    "kind, dates, expected",
    [
        ("start", APART, (None, NOON + 3 * DAY)),
        ("due", APART, (NOON, None)),
        ("range", RANGE, (None, None)),
    ],
    undone=True,
)
def test_deleting_a_task_date_event_clears_the_date(db: None, kind: str, dates: Any, expected: Any) -> None:
    task, event = make_task_event(kind, **dates)

    outcome = call_handler("delete_calendar_event", event_id=str(event.pk))

    task.refresh_from_db()
    event.refresh_from_db()
    assert (task.start_at, task.due_at) == expected
    assert event.deleted_at == AT
    assert "of its task" in outcome.result["message"]


def test_deleting_other_task_events_keeps_the_task_dates(db: None) -> None:
    task, _ = make_task_event("due", due_at=NOON)
    event = EventFactory(project=task.project, task=task)

    call_handler("delete_calendar_event", event_id=str(event.pk))

    task.refresh_from_db()
    assert task.due_at == NOON


# --- external calendars


@for_each(
    "tool, args",
    [
        ("list_calendar_events", {}),
        ("get_calendar_event_details", {"event_id": str(uuid4())}),
        ("create_calendar_event", {"title": "T", "start_at": "2026-03-04"}),
        ("update_calendar_event", {"event_id": str(uuid4()), "title": "T"}),
        ("delete_calendar_event", {"event_id": str(uuid4())}),
        ("set_project_calendar", {"project_id": str(uuid4())}),
    ],
    undone=True,
)
def test_external_calendar_requires_a_connection(db: None, tool: str, args: dict[str, str]) -> None:
    with pytest.raises(StateConflict) as refused:
        call_handler(tool, calendar_id="ines@example.com", **args)

    assert refused.value.reason == "connection_required"
    assert refused.value.details["requires_user_action"] is True
    assert "administrator" in refused.value.details["how_to_connect"]


def test_sync_never_fails_a_write_and_reports_its_status(db: None) -> None:
    event = make_own_event()

    assert create(sync_to_calendar=True).result["sync"]["state"] == "not_connected"
    assert update(event, title="New", sync_to_calendar=True).result["sync"]["state"] == "not_connected"
    assert "sync" not in create().result
    assert "sync" not in create(sync_to_calendar=False).result


def test_date_alone_moves_a_timed_event_at_its_local_time(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    event = make_own_event(
        start_at=datetime(2026, 3, 27, 8, 0, tzinfo=UTC), end_at=datetime(2026, 3, 27, 9, 0, tzinfo=UTC)
    )

    outcome = update(event, start_at="2026-03-30")

    assert outcome.result["event"]["start_at"] == "2026-03-30T09:00:00+02:00"  # also after the clocks change
    assert outcome.warnings == (
        "Read start_at as 2026-03-30T09:00:00+02:00, that day at the old time; for whole days also send end_at.",
    )


@for_each(
    "sent, attendees",
    [
        ({"add_attendees": ["Cem", "ana"]}, ["Ana", "Ben", "Cem"]),
        ({"remove_attendees": ["ANA"]}, ["Ben"]),
        ({"remove_attendees": ["Ana", "Ben"]}, []),
        ({"add_attendees": ["Cem"], "remove_attendees": ["Ben"]}, ["Ana", "Cem"]),
        ({"attendees": ["Cem"]}, ["Cem"]),
        ({"attendees": None, "add_attendees": ["Cem"]}, ["Cem"]),
    ],
    undone=True,
)
def test_attendees_are_added_removed_or_replaced(db: None, sent: dict[str, Any], attendees: list[str]) -> None:
    event = make_own_event(attendees=["Ana", "Ben"])

    assert update(event, **sent).result["event"]["attendees"] == attendees


def test_only_attendees_can_be_removed_and_their_number_is_limited(db: None) -> None:
    event = make_own_event(attendees=["Ana"])

    assert list_field_errors(lambda: update(event, remove_attendees=["Zoe"])) == [
        ("/remove_attendees", "not_attending")
    ]
    many = [f"guest {number}" for number in range(50)]
    assert list_field_errors(lambda: update(event, add_attendees=many)) == [("/add_attendees", "too_many")]
