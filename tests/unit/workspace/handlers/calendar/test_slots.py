"""Finding free time: working hours minus the subject's events, and nobody else's."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.handler_contract import InvalidArgs
from tests.support.rows.factories import (
    MADE_AT,
    EventFactory,
    MembershipFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import call_handler, list_field_errors
from workspace.models import CalendarEvent, Project
from workspace.services.calendar import task_events

SUNDAY = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MONDAY = {"time_min": "2026-03-02", "time_max": "2026-03-02"}


@pytest.fixture(autouse=True)
def profile(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")


def find(at: datetime = SUNDAY, **sent: Any) -> Any:
    return call_handler("find_available_slots", at=at, **sent).result


def list_free_slots(at: datetime = SUNDAY, **sent: Any) -> list[str]:
    return [f"{slot['start']} to {slot['end']}" for slot in find(at, **sent)["slots"]]


def march_time(day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def make_busy_event(start: str, minutes: int = 60, **columns: Any) -> CalendarEvent:
    begin = datetime.fromisoformat(f"{start}+00:00")
    event: CalendarEvent = EventFactory(
        **{"subject": "owner", "project": None, "start_at": begin, "end_at": begin + timedelta(minutes=minutes)}
        | columns
    )
    return event


def test_find_returns_working_hours_minus_events(db: None) -> None:
    make_busy_event("2026-03-02T09:00")
    make_busy_event("2026-03-02T11:30", 30)

    result = find(**MONDAY)

    assert [tuple(slot.values()) for slot in result["slots"]] == [
        ("2026-03-02T09:00:00+01:00", "2026-03-02T10:00:00+01:00", "monday", 60),
        ("2026-03-02T11:00:00+01:00", "2026-03-02T12:30:00+01:00", "monday", 90),
        ("2026-03-02T13:00:00+01:00", "2026-03-02T17:00:00+01:00", "monday", 240),
    ]
    assert list(result["slots"][0]) == ["start", "end", "weekday", "duration_minutes"]
    assert (result["total"], result["has_more"]) == (3, False)
    expected = {"time_min": "2026-03-02T00:00", "time_max": "2026-03-03T00:00", "time_zone": "Europe/Berlin"}
    assert result["time_range"] == expected
    assert list_free_slots(**MONDAY, duration_minutes=91) == ["2026-03-02T13:00:00+01:00 to 2026-03-02T17:00:00+01:00"]
    # A subject without a profile has the default hours, and none of these events.
    assert list_free_slots(**MONDAY, subject="somebody") == ["2026-03-02T09:00:00Z to 2026-03-02T17:00:00Z"]


def test_find_searches_a_week_ahead_on_quarter_hours(db: None) -> None:
    result = find(datetime(2026, 3, 2, 9, 7, 23, 5, tzinfo=UTC))

    assert result["slots"][0]["start"] == "2026-03-02T10:15:00+01:00"
    assert result["slots"][-1]["end"] == "2026-03-09T17:00:00+01:00"
    assert result["total"] == 6
    assert find(datetime(2026, 3, 2, 9, 15, tzinfo=UTC))["slots"][0]["start"] == "2026-03-02T10:15:00+01:00"


def test_find_returns_no_past_time(db: None) -> None:
    now = datetime(2026, 3, 2, 13, 50, tzinfo=UTC)

    assert list_free_slots(now, **MONDAY) == ["2026-03-02T15:00:00+01:00 to 2026-03-02T17:00:00+01:00"]
    assert list_field_errors(lambda: find(datetime(2026, 3, 3, tzinfo=UTC), **MONDAY)) == [("/time_max", "over")]


def test_find_respects_recurring_and_whole_day_events(db: None, django_assert_num_queries: Any) -> None:
    make_busy_event("2026-01-05T08:00", 8 * 60, recurrence="weekly", time_zone="Europe/Berlin")  # Mondays
    make_busy_event("2026-03-03T08:00", start_at=None, end_at=None, start_date="2026-03-03", end_date="2026-03-04")

    with django_assert_num_queries(2):
        slots = find(time_min="2026-03-02", time_max="2026-03-06")["slots"]

    assert [slot["start"][:10] for slot in slots] == ["2026-03-05", "2026-03-06"]


def test_find_ignores_due_dates_and_respects_work_on_tasks(db: None) -> None:
    project = ProjectFactory(created_by="owner")
    for start, due in ((None, (2, 10, 0)), ((2, 12, 0), (2, 13, 0)), ((2, 15, 0), None)):
        task = TaskFactory(project=project, start_at=start and march_time(*start), due_at=due and march_time(*due))
        task_events.sync_events([task], by="owner", at=MADE_AT)

    assert list_free_slots(**MONDAY) == [
        "2026-03-02T09:00:00+01:00 to 2026-03-02T13:00:00+01:00",
        "2026-03-02T14:00:00+01:00 to 2026-03-02T16:00:00+01:00",
    ]


def test_find_searches_preferred_hours_on_working_days(db: None) -> None:
    assert list_free_slots(time_min="2026-03-06", time_max="2026-03-08", preferred_hours=[19, 18, 7]) == [
        "2026-03-06T07:00:00+01:00 to 2026-03-06T08:00:00+01:00",
        "2026-03-06T18:00:00+01:00 to 2026-03-06T20:00:00+01:00",
    ]


def test_find_includes_days_off_on_request(db: None) -> None:
    weekend = {"time_min": "2026-03-07", "time_max": "2026-03-08"}

    nothing = find(**weekend)
    assert (nothing["slots"], nothing["total"], nothing["has_more"]) == ([], 0, False)
    assert "later time_max" in nothing["message"]
    expected = ["2026-03-07", "2026-03-08"]
    assert [each[:10] for each in list_free_slots(**weekend, preferred_hours=[10], include_days_off=True)] == expected
    with pytest.raises(InvalidArgs, match="send preferred_hours"):
        find(**weekend, include_days_off=True)


def test_find_is_limited_and_continues_after_the_last_slot(db: None) -> None:
    first = find(time_min="2026-03-02", time_max="2026-03-06", limit=2)

    rest = find(time_min=first["slots"][-1]["end"], time_max="2026-03-06")

    assert (len(first["slots"]), first["total"], first["has_more"]) == (2, 5, True)
    assert "time_min" in first["message"]
    assert [slot["start"][:10] for slot in rest["slots"]] == ["2026-03-04", "2026-03-05", "2026-03-06"]


def test_find_respects_only_events_that_the_subject_can_see(db: None) -> None:
    hidden: Project = ProjectFactory(created_by="stranger")
    shared: Project = ProjectFactory(created_by="stranger")
    MembershipFactory(project=shared, subject="owner")
    for project, hour in ((hidden, 8), (shared, 12)):
        begin = datetime(2026, 3, 2, hour, 0, tzinfo=UTC)
        EventFactory(project=project, start_at=begin, end_at=begin + timedelta(hours=1))
    make_busy_event("2026-03-02T09:00", subject="stranger")
    make_busy_event("2026-03-02T10:00", deleted_at=MADE_AT)

    assert list_free_slots(**MONDAY) == [
        "2026-03-02T09:00:00+01:00 to 2026-03-02T13:00:00+01:00",
        "2026-03-02T14:00:00+01:00 to 2026-03-02T17:00:00+01:00",
    ]
