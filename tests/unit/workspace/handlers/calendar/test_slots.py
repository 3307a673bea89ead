"""Finding free time: working hours, what is in the way, and nobody else's calendar."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.factories import (
    MADE_AT,
    EventFactory,
    MembershipFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.handler_calls import call
from workspace.errors import InvalidArgs
from workspace.models import CalendarEvent, Project
from workspace.services.calendar import task_events

SUNDAY = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MONDAY = {"time_min": "2026-03-02", "time_max": "2026-03-02"}


@pytest.fixture(autouse=True)
def profile(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")


def find(at: datetime = SUNDAY, **sent: Any) -> Any:
    return call("find_available_slots", at=at, **sent).result


def free(at: datetime = SUNDAY, **sent: Any) -> list[str]:
    return [f"{slot['start']} to {slot['end']}" for slot in find(at, **sent)["slots"]]


def march(day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def busy(start: str, minutes: int = 60, **columns: Any) -> CalendarEvent:
    begin = datetime.fromisoformat(f"{start}+00:00")
    event: CalendarEvent = EventFactory(
        **{"subject": "owner", "project": None, "start_at": begin, "end_at": begin + timedelta(minutes=minutes)}
        | columns
    )
    return event


def test_find_tells_working_hours_minus_events(db: None) -> None:
    busy("2026-03-02T09:00")
    busy("2026-03-02T11:30", 30)

    found = find(**MONDAY)

    assert found["slots"] == [
        {
            "start": "2026-03-02T09:00:00+01:00",
            "end": "2026-03-02T10:00:00+01:00",
            "weekday": "monday",
            "duration_minutes": 60,
        },
        {
            "start": "2026-03-02T11:00:00+01:00",
            "end": "2026-03-02T12:30:00+01:00",
            "weekday": "monday",
            "duration_minutes": 90,
        },
        {
            "start": "2026-03-02T13:00:00+01:00",
            "end": "2026-03-02T17:00:00+01:00",
            "weekday": "monday",
            "duration_minutes": 240,
        },
    ]
    assert (found["total"], found["has_more"]) == (3, False)
    assert found["time_range"] == {
        "time_min": "2026-03-02T00:00:00+01:00",
        "time_max": "2026-03-03T00:00:00+01:00",
        "time_zone": "Europe/Berlin",
    }


def test_find_leaves_out_what_is_too_short(db: None) -> None:
    busy("2026-03-02T09:00")

    assert free(**MONDAY, duration_minutes=61) == ["2026-03-02T11:00:00+01:00 to 2026-03-02T17:00:00+01:00"]


def test_find_looks_a_week_ahead_on_quarters_of_an_hour(db: None) -> None:
    found = find(datetime(2026, 3, 2, 9, 7, 23, 5, tzinfo=UTC))

    assert found["slots"][0]["start"] == "2026-03-02T10:15:00+01:00"
    assert found["slots"][-1]["end"] == "2026-03-09T10:00:00+01:00"
    assert found["total"] == 6
    assert find(datetime(2026, 3, 2, 9, 15, tzinfo=UTC))["slots"][0]["start"] == "2026-03-02T10:15:00+01:00"


def test_find_tells_no_time_that_is_over(db: None) -> None:
    now = datetime(2026, 3, 2, 13, 50, tzinfo=UTC)

    assert free(now, **MONDAY) == ["2026-03-02T15:00:00+01:00 to 2026-03-02T17:00:00+01:00"]
    with pytest.raises(InvalidArgs) as refused:
        find(datetime(2026, 3, 3, tzinfo=UTC), **MONDAY)
    assert [(error.path, error.code) for error in refused.value.field_errors] == [("/time_max", "over")]


def test_find_knows_what_comes_again_and_whole_days(db: None) -> None:
    busy("2026-01-05T08:00", 8 * 60, recurrence="weekly", time_zone="Europe/Berlin")  # Mondays
    busy("2026-03-03T08:00", start_at=None, end_at=None, start_date="2026-03-03", end_date="2026-03-04")

    days = [slot["start"][:10] for slot in find(time_min="2026-03-02", time_max="2026-03-06")["slots"]]

    assert days == ["2026-03-05", "2026-03-06"]


def test_find_is_not_stopped_by_what_is_due_but_by_what_is_worked_on(db: None) -> None:
    project = ProjectFactory(created_by="owner")
    for start, due in ((None, (2, 10, 0)), ((2, 12, 0), (2, 13, 0)), ((2, 15, 0), None)):
        task = TaskFactory(project=project, start_at=start and march(*start), due_at=due and march(*due))
        task_events.sync_events([task], by="owner", at=MADE_AT)

    assert free(**MONDAY) == [
        "2026-03-02T09:00:00+01:00 to 2026-03-02T13:00:00+01:00",
        "2026-03-02T14:00:00+01:00 to 2026-03-02T16:00:00+01:00",
    ]


def test_find_keeps_wall_time_over_the_change_of_the_clocks(db: None) -> None:
    busy("2026-03-27T08:00", recurrence="daily", time_zone="Europe/Berlin")

    assert free(time_min="2026-03-27", time_max="2026-03-30", at=SUNDAY) == [
        "2026-03-27T10:00:00+01:00 to 2026-03-27T17:00:00+01:00",
        "2026-03-30T10:00:00+02:00 to 2026-03-30T17:00:00+02:00",
    ]


def test_find_looks_in_preferred_hours_on_working_days(db: None) -> None:
    assert free(time_min="2026-03-06", time_max="2026-03-08", preferred_hours=[19, 18, 7]) == [
        "2026-03-06T07:00:00+01:00 to 2026-03-06T08:00:00+01:00",
        "2026-03-06T18:00:00+01:00 to 2026-03-06T20:00:00+01:00",
    ]


def test_find_looks_at_days_off_where_asked_to(db: None) -> None:
    weekend = {"time_min": "2026-03-07", "time_max": "2026-03-08"}

    assert free(**weekend) == []
    assert [each[:10] for each in free(**weekend, preferred_hours=[10], include_days_off=True)] == [
        "2026-03-07",
        "2026-03-08",
    ]
    with pytest.raises(InvalidArgs, match="send preferred_hours"):
        find(**weekend, include_days_off=True)


def test_find_says_what_to_send_where_nothing_is_free(db: None) -> None:
    busy("2026-03-02T00:00", 24 * 60)

    found = find(**MONDAY)

    assert (found["slots"], found["total"], found["has_more"]) == ([], 0, False)
    assert "later time_max" in found["message"]


def test_find_is_bounded_and_goes_on_from_the_end_of_the_last_slot(db: None) -> None:
    first = find(time_min="2026-03-02", time_max="2026-03-06", limit=2)

    rest = find(time_min=first["slots"][-1]["end"], time_max="2026-03-06")

    assert (len(first["slots"]), first["total"], first["has_more"]) == (2, 5, True)
    assert "time_min" in first["message"]
    assert [slot["start"][:10] for slot in rest["slots"]] == ["2026-03-04", "2026-03-05", "2026-03-06"]


def test_find_sees_the_events_of_projects_that_the_subject_sees_and_no_others(db: None) -> None:
    hidden: Project = ProjectFactory(created_by="stranger")
    shared: Project = ProjectFactory(created_by="stranger")
    MembershipFactory(project=shared, subject="owner")
    for project, hour in ((hidden, 8), (shared, 12)):
        begin = datetime(2026, 3, 2, hour, 0, tzinfo=UTC)
        EventFactory(project=project, start_at=begin, end_at=begin + timedelta(hours=1))
    busy("2026-03-02T09:00", subject="stranger")
    busy("2026-03-02T10:00", deleted_at=MADE_AT)

    assert free(**MONDAY) == [
        "2026-03-02T09:00:00+01:00 to 2026-03-02T13:00:00+01:00",
        "2026-03-02T14:00:00+01:00 to 2026-03-02T17:00:00+01:00",
    ]


def test_find_goes_by_the_defaults_for_a_subject_without_a_profile(db: None) -> None:
    busy("2026-03-02T09:00")  # the owner's

    assert free(**MONDAY, subject="somebody") == ["2026-03-02T09:00:00Z to 2026-03-02T17:00:00Z"]


def test_find_costs_two_queries(django_assert_num_queries: Any) -> None:
    for day in range(2, 7):
        busy(f"2026-03-0{day}T09:00", recurrence="weekly")

    with django_assert_num_queries(2):
        find()
