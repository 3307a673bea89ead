"""A part of a recurring event: cancel or move one occurrence, one and all later ones, or all."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.loops import for_each
from tests.support.rows.factories import EventFactory, ProfileFactory
from tests.support.values.handler_calls import call_handler, get_field_error
from workspace.models import CalendarEvent

THURSDAY = "2026-03-05T09:00"


@pytest.fixture
def standup(db: None) -> CalendarEvent:
    """Daily at nine in Berlin for half an hour, from Monday, 2 March 2026."""
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    start = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
    event: CalendarEvent = EventFactory(
        title="Standup",
        project=None,
        subject="owner",
        start_at=start,
        end_at=start + timedelta(minutes=30),
        time_zone="Europe/Berlin",
        recurrence="daily",
    )
    return event


def update(event: CalendarEvent, **args: Any) -> Any:
    return call_handler("update_calendar_event", event_id=str(event.pk), **args)


def delete(event: CalendarEvent, **args: Any) -> Any:
    return call_handler("delete_calendar_event", event_id=str(event.pk), **args)


def list_events(until: str = "2026-03-07", since: str = "2026-03-02") -> list[str]:
    """Return day, time and title of each occurrence."""
    rows = call_handler("list_calendar_events", time_min=since, time_max=until, limit=50, fields=["*"]).result["events"]
    return [f"{row['start_at'][8:16].replace('T', ' ')} {row['title']}".replace("-", " ") for row in rows]


def get_error(event: CalendarEvent, call: Any = update, **args: Any) -> tuple[str, str, Any]:
    error = get_field_error(lambda: call(event, **args))
    return error.path, error.code, error.expected


def test_one_occurrence_is_cancelled(standup: CalendarEvent) -> None:
    outcome = delete(standup, scope="this", occurrence_start=THURSDAY)

    assert list_events() == [f"{day} 09:00 Standup" for day in ("02", "03", "04", "06", "07")]
    assert outcome.result == {
        "event": {"id": str(standup.pk)},
        "message": "Deleted the occurrence 2026-03-05T09:00:00+01:00 only of “Standup”; the others stay.",
    }
    event = call_handler("get_calendar_event_details", event_id=str(standup.pk)).result["event"]
    assert event["excluded_starts"] == ["2026-03-05T08:00:00Z"]
    _, code, expected = get_error(standup, scope="this", occurrence_start=THURSDAY, title="New")
    assert code == "no_occurrence"
    assert THURSDAY + ":00+01:00" not in expected


@for_each(
    "args, left, words",
    [
        ({"scope": "following", "occurrence_start": "2026-03-05"}, ["02", "03", "04"], "and all later occurrences"),
        ({"scope": "following", "occurrence_start": "2026-03-02"}, [], "and all its repeats; ops no longer find it."),
        ({"scope": "all"}, [], "Deleted the event “Standup” and all its repeats; ops no longer find it."),
    ],
    undone=True,
)
def test_this_and_later_or_all_occurrences_are_cancelled(
    standup: CalendarEvent, args: dict[str, str], left: list[str], words: str
) -> None:
    outcome = delete(standup, **args)

    assert list_events("2026-04-07") == [f"{day} 09:00 Standup" for day in left]
    assert words in outcome.result["message"]


def test_one_occurrence_is_moved(standup: CalendarEvent) -> None:
    outcome = update(
        standup,
        scope="this",
        occurrence_start=THURSDAY,
        start_at="2026-03-05T15:00",
        title="Late standup",
        fields=["recurrence", "end_at"],
    )

    assert list_events() == [
        *(f"{day} 09:00 Standup" for day in ("02", "03", "04")),
        "05 15:00 Late standup",
        *(f"{day} 09:00 Standup" for day in ("06", "07")),
    ]
    row = outcome.result["event"]
    assert (row["recurrence"], row["end_at"]) == (None, "2026-03-05T15:30:00+01:00")
    assert row["id"] != str(standup.pk)
    assert outcome.result["message"].startswith(
        f"The occurrence 2026-03-05T09:00:00+01:00 only of “Standup” is now the event {row['id']}; the others stay."
        " Changed title Standup → “Late standup”, start_at"
    )


def test_this_and_later_occurrences_are_moved(standup: CalendarEvent) -> None:
    delete(standup, scope="this", occurrence_start="2026-03-06")

    outcome = update(
        standup, scope="following", occurrence_start=THURSDAY, start_at="2026-03-05T10:00", fields=["recurrence"]
    )

    # The occurrence that was cancelled stays so.
    expected = ["02 09:00 Standup", "03 09:00 Standup", "04 09:00 Standup", "05 10:00 Standup", "07 10:00 Standup"]
    assert list_events() == expected
    assert outcome.result["event"]["recurrence"] == "daily"


def test_occurrence_of_whole_days_is_cancelled_and_moved(standup: CalendarEvent) -> None:
    update(standup, scope="all", start_at="2026-03-02", end_at="2026-03-02", recurrence="weekly")

    delete(standup, scope="this", occurrence_start="2026-03-09")
    update(standup, scope="this", occurrence_start="2026-03-16", start_at="2026-03-17")

    starts = [event[:2] for event in list_events("2026-03-24")]
    assert starts == ["02", "17", "23"]


def test_changed_part_that_is_as_it_was_stays_in_the_series(standup: CalendarEvent) -> None:
    outcome = update(standup, scope="this", occurrence_start=THURSDAY, start_at=THURSDAY)

    assert outcome.warnings == ("unchanged",)
    assert CalendarEvent.objects.count() == 1


def test_deleting_asks_which_occurrences(standup: CalendarEvent) -> None:
    error = get_field_error(lambda: delete(standup))

    assert error.message == (
        "It recurs daily. Send scope: this for one occurrence, following for that one and all later ones (both with "
        "occurrence_start), or all. It occurs at 2026-03-02T09:00:00+01:00, 2026-03-03T09:00:00+01:00, "
        "2026-03-04T09:00:00+01:00."
    )
    assert (error.path, error.expected, error.send) == ("/scope", ["this", "following", "all"], None)
    assert len(list_events()) == 6
    # Of an event that happens once, any scope means all of it.
    CalendarEvent.objects.update(recurrence="")
    delete(standup, scope="this", occurrence_start=THURSDAY)
    assert list_events() == []


@for_each(
    "args",
    [
        {"start_at": "2026-03-05T15:00"},
        {"end_at": "2026-03-05T10:00"},
        {"start_at": "2026-03-05", "end_at": "2026-03-05"},
    ],
    undone=True,
)
def test_new_time_on_the_day_of_a_later_occurrence_is_proposed_for_that_one(
    standup: CalendarEvent, args: dict[str, str]
) -> None:
    error = get_field_error(lambda: update(standup, **args))

    assert error.send == {"scope": "this", "occurrence_start": "2026-03-05T09:00:00+01:00"}
    update(standup, **args, **error.send)
    assert len(list_events()) == 6


@for_each("args", [{"start_at": "2026-03-02T11:00"}, {"duration_minutes": 60}, {"start_at": "2026-02-01"}], undone=True)
def test_new_time_of_no_later_occurrence_asks_which_are_meant(standup: CalendarEvent, args: dict[str, Any]) -> None:
    assert get_error(standup, **args) == ("/scope", "missing", ["this", "following", "all"])


def test_weekend_of_a_series_on_weekdays_asks_which_are_meant_first(standup: CalendarEvent) -> None:
    CalendarEvent.objects.update(recurrence="weekdays")

    assert get_error(standup, start_at="2026-03-07T09:00")[:2] == ("/scope", "missing")


def test_change_without_a_time_needs_no_scope_and_says_that_all_changed(standup: CalendarEvent) -> None:
    outcome = update(standup, title="Daily", start_at="2026-03-02T09:00")

    assert outcome.result["message"].endswith("It recurs, so all its occurrences changed.")


def test_missing_or_wrong_occurrence_is_refused_with_those_there_are(standup: CalendarEvent) -> None:
    next_ones = [f"2026-03-0{day}T09:00:00+01:00" for day in (2, 3, 4)]

    assert get_error(standup, scope="this", title="New") == ("/occurrence_start", "missing", next_ones)
    assert get_error(standup, delete, scope="following") == ("/occurrence_start", "missing", next_ones)
    path, code, expected = get_error(standup, scope="this", occurrence_start="2026-03-05T10:00", title="New")
    assert (path, code) == ("/occurrence_start", "no_occurrence")
    assert THURSDAY + ":00+01:00" in expected
    refusal = get_error(standup, scope="this", occurrence_start=THURSDAY, recurrence="weekly")
    assert refusal[:2] == ("/scope", "not_recurring")


@for_each(
    "rule, cancelled, start_at, expected",
    [
        # Each row: the rule from Monday, 2 March at nine, what is cancelled, the new start, what stays cancelled.
        ("daily", ["2026-03-03", "2026-03-06"], "2026-03-05T10:00", ["2026-03-06T09:00:00Z"]),
        (
            "weekdays",
            ["2026-03-05", "2026-03-06"],
            "2026-03-03T10:00",
            ["2026-03-05T09:00:00Z", "2026-03-06T09:00:00Z"],
        ),
        ("weekdays", ["2026-03-09"], "2026-02-27T09:00", ["2026-03-09T08:00:00Z"]),
        ("weekly", ["2026-03-09", "2026-03-16"], "2026-03-05T09:00", ["2026-03-12T08:00:00Z", "2026-03-19T08:00:00Z"]),
        ("weekly", ["2026-03-09", "2026-03-23"], "2026-03-17T09:00", ["2026-03-24T08:00:00Z"]),
        ("biweekly", ["2026-03-16", "2026-03-30"], "2026-03-17T09:00", ["2026-03-31T07:00:00Z"]),
        ("monthly", ["2026-04-02", "2026-05-02"], "2026-04-03T09:00", ["2026-05-03T07:00:00Z"]),
    ],
    undone=True,
)
def test_cancelled_occurrences_stay_those_that_were_meant_when_all_move(
    standup: CalendarEvent, rule: str, cancelled: list[str], start_at: str, expected: list[str]
) -> None:
    CalendarEvent.objects.update(recurrence=rule)
    for day in cancelled:
        delete(standup, scope="this", occurrence_start=day)

    update(standup, scope="all", start_at=start_at)

    standup.refresh_from_db()
    assert standup.excluded_starts == expected


def test_cancelled_days_stay_cancelled_under_another_rule(standup: CalendarEvent) -> None:
    delete(standup, scope="this", occurrence_start="2026-03-09")

    update(standup, recurrence="weekly")
    standup.refresh_from_db()
    assert standup.excluded_starts == ["2026-03-09T08:00:00Z"]

    update(standup, recurrence=None)
    standup.refresh_from_db()
    assert standup.excluded_starts == []
