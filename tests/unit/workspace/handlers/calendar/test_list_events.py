"""Lists of events: which events, in which order, and their pages."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from core.handler_contract import InvalidArgs
from tests.support.loops import for_each
from tests.support.rows.factories import (
    MADE_AT,
    EventFactory,
    MembershipFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.values.handler_calls import AT, call_handler, list_field_errors
from workspace.models import MemberRole
from workspace.services.calendar import event_list, task_events

pytestmark = pytest.mark.both_databases

DAY = timedelta(days=1)
WEEK = {"time_min": "2026-03-02", "time_max": "2026-03-08"}


def make_own_event(title: str = "", **fields: Any) -> Any:
    named = {"title": title} if title else {}
    return EventFactory(**({"project": None, "subject": "owner", "start_at": AT + timedelta(hours=1)} | named | fields))


def days(title: str, first: date, last: date | None = None, **fields: Any) -> Any:
    return make_own_event(title, start_at=None, end_at=None, start_date=first, end_date=last or first, **fields)


def list_events(**args: Any) -> Any:
    return call_handler("list_calendar_events", **args).result


def list_titles(**args: Any) -> list[str]:
    """Return the title of each occurrence."""
    return [row["title"] for row in list_events(fields=["title"], **args)["events"]]


def test_list_covers_the_next_seven_local_days(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    before_the_change = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)

    result = list_events(at=before_the_change)

    assert result == {
        "events": [],
        "total": 0,
        "has_more": False,
        "time_range": {
            "time_min": "2026-03-27T13:00",
            "time_max": "2026-04-04T00:00",  # to the end of the seventh day
            "time_zone": "Europe/Berlin",
        },
        "message": "No events in the user's own calendar and projects in time_range; for another time, send time_min"
        " and time_max.",
    }


def test_list_row_is_abbreviated(db: None) -> None:
    task = TaskFactory(project__name="Garden")
    full = make_own_event("Full", description="d", attendees=["a"], location="l", recurrence="weekly")
    bare = EventFactory(title="Bare", project=task.project, task=task, start_at=AT + DAY)

    rows = list_events(time_max="2026-03-04")["events"]

    assert rows == [
        {
            "id": str(full.pk),
            "title": "Full",
            "start_at": "2026-03-02T13:30",
            "end_at": "2026-03-02T14:30",
            "has_description": True,
            "has_attendees": True,
            "location": "l",
            "recurrence": "weekly",
        },
        {
            "id": str(bare.pk),
            "title": "Bare",
            "start_at": "2026-03-03T12:30",
            "end_at": "2026-03-03T13:30",
            "linked_task_id": str(task.pk),
            "project_id": str(task.project_id),
            "project_name": "Garden",
        },
    ]


def test_times_are_local_unless_a_time_zone_is_sent(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    make_own_event("Early", start_at=datetime(2026, 10, 25, 0, 30, tzinfo=UTC), end_at=AT + 365 * DAY)
    make_own_event("Late", start_at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC), end_at=AT + 365 * DAY)
    day = {"time_min": "2026-10-25", "time_max": "2026-10-25"}

    local, elsewhere = list_events(**day), list_events(**day, time_zone="UTC")

    assert [row["start_at"] for row in local["events"]] == [
        "2026-10-25T02:30",
        "2026-10-25T02:30:00+01:00",  # the clocks show this time twice; alone it would be read as the first
    ]
    assert local["time_range"]["time_zone"] == "Europe/Berlin"
    assert [row["start_at"] for row in elsewhere["events"]] == ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]


def test_list_includes_events_that_overlap_the_range(db: None) -> None:
    make_own_event("running", start_at=AT - timedelta(minutes=30))
    make_own_event("over", start_at=AT - timedelta(hours=1))
    make_own_event("begins at the end", start_at=datetime(2026, 3, 10, tzinfo=UTC))
    make_own_event("last", start_at=datetime(2026, 3, 9, 23, 59, tzinfo=UTC))

    assert list_titles() == ["running", "last"]
    assert list_titles(time_min="2026-03-02T12:30", time_max="2026-03-10T00:00") == ["running", "last"]


def test_week_from_a_midnight_has_seven_days(db: None) -> None:
    make_own_event("seventh day", start_at=datetime(2026, 3, 8, 23, 0, tzinfo=UTC))
    make_own_event("eighth day", start_at=datetime(2026, 3, 9, 1, 0, tzinfo=UTC))

    assert list_titles(time_min="2026-03-02") == ["seventh day"]


def test_whole_days_are_days_of_the_time_zone(db: None) -> None:
    days("before", date(2026, 3, 1))
    days("across", date(2026, 3, 1), date(2026, 3, 2))
    days("that day", date(2026, 3, 2))
    days("after", date(2026, 3, 3))
    make_own_event("night", start_at=datetime(2026, 3, 1, 23, 30, tzinfo=UTC))

    one_day = {"time_min": "2026-03-02", "time_max": "2026-03-02"}
    berlin = list_events(**one_day, time_zone="Europe/Berlin")

    assert [row["title"] for row in berlin["events"]] == ["across", "that day", "night"]
    expected = ("2026-03-02T00:00", "2026-03-03T00:00")
    assert (berlin["time_range"]["time_min"], berlin["time_range"]["time_max"]) == expected
    assert [(row["start_at"], row["end_at"], row["is_all_day"]) for row in berlin["events"][:2]] == [
        ("2026-03-01", "2026-03-02", True),
        ("2026-03-02", "2026-03-02", True),
    ]


def test_recurring_event_is_listed_per_occurrence_at_the_same_local_time(db: None) -> None:
    make_own_event(
        "stand-up", start_at=datetime(2026, 3, 2, 8, 0, tzinfo=UTC), recurrence="weekdays", time_zone="Europe/Berlin"
    )
    days("bins", date(2026, 3, 3), recurrence="biweekly")

    days_of_march = {"time_min": "2026-03-26", "time_max": "2026-03-31", "time_zone": "Europe/Berlin"}
    rows = list_events(**days_of_march, fields=["start_at"])["events"]
    lean = list_events(**days_of_march)

    assert [row["start_at"] for row in rows] == [
        "2026-03-26T09:00:00+01:00",
        "2026-03-27T09:00:00+01:00",
        "2026-03-30T09:00:00+02:00",  # still 09:00 after the clocks change
        "2026-03-31",
        "2026-03-31T09:00:00+02:00",
    ]
    assert len({row["id"] for row in rows}) == 2
    assert [(row["start_at"], row.get("also_at")) for row in lean["events"]] == [
        ("2026-03-26T09:00:00+01:00", ["2026-03-27", "2026-03-30T09:00:00+02:00", "2026-03-31T09:00:00+02:00"]),
        ("2026-03-31", None),
    ]
    assert lean["message"].startswith("2 of 2 events, earliest first.")
    assert "An event that repeats is one row" in lean["message"]


def test_page_has_as_many_events_as_its_limit_however_often_they_repeat(db: None) -> None:
    make_own_event("daily", start_at=AT, recurrence="daily")
    make_own_event("weekdays", start_at=AT + timedelta(hours=1), recurrence="weekdays")
    for number in range(3):
        make_own_event(f"once {number}", start_at=AT + (number + 2) * DAY)

    first = list_events(limit=3)
    second = list_events(limit=3, cursor=first["next_cursor"], at=AT + timedelta(hours=5))

    assert [row["title"] for row in first["events"]] == ["daily", "weekdays", "once 0"]
    assert [len(row.get("also_at", ())) for row in first["events"]] == [7, 5, 0]
    assert [row["title"] for row in second["events"]] == ["once 1", "once 2"]
    assert (first["total"], first["has_more"], second["total"], second["has_more"]) == (5, True, 5, False)
    assert first["message"].startswith("3 of 5 events")


def test_row_of_an_event_that_repeats_often_counts_the_starts_that_it_leaves_out(db: None) -> None:
    make_own_event("daily", start_at=AT, recurrence="daily")

    year = list_events(time_max="2026-12-31")

    [row] = year["events"]
    assert (row["also_at"][-1], len(row["also_at"]), row["more_starts"]) == ("2026-03-09", 7, 297)
    assert "more_starts" in year["message"]


def test_recurring_event_ends_at_its_recurrence_end(db: None) -> None:
    until = datetime(2026, 3, 4, 23, 59, tzinfo=UTC)
    make_own_event("timed", start_at=AT, recurrence="daily", recurrence_until=until)
    days("whole", date(2026, 3, 2), recurrence="daily", recurrence_until=until)

    assert list_titles(**WEEK) == ["whole", "timed"] * 3
    assert list_titles(time_min="2026-06-01") == []


def test_long_recurring_event_is_found_while_it_lasts(db: None) -> None:
    make_own_event("watch", start_at=AT - 10 * DAY, end_at=AT - 5 * DAY, recurrence="biweekly")
    days("leave", date(2026, 2, 2), date(2026, 2, 8), recurrence="monthly")

    assert list_titles(time_min="2026-03-07", time_max="2026-03-07") == ["leave", "watch"]


def test_list_shows_own_events_project_events_and_task_dates(db: None) -> None:
    make_own_event("mine")
    make_own_event("theirs", subject="somebody")
    make_own_event("deleted", deleted_at=MADE_AT)
    project = ProjectFactory(created_by="somebody")
    MembershipFactory(project=project, subject="owner", role=MemberRole.VIEWER)
    EventFactory(title="ours", project=project, start_at=AT + 2 * DAY)
    EventFactory(title="foreign", project__created_by="somebody", start_at=AT + DAY)
    task = TaskFactory(project=project, title="Write", due_at=AT + 3 * DAY)
    task_events.sync_events([task], by="somebody", at=AT)
    gone = TaskFactory(project=project, due_at=AT + 3 * DAY, deleted_at=MADE_AT)
    task_events.sync_events([gone], by="somebody", at=AT)

    assert list_titles() == list_titles(calendar_scope="user") == ["mine", "ours", "Due: Write"]
    assert (
        list_titles(calendar_id="primary")
        == list_titles(calendar_scope="calendar_id", calendar_id="primary")
        == ["mine"]
    )
    assert list_titles(project_id=str(project.pk)) == ["ours", "Due: Write"]
    assert list_titles(calendar_scope="project", project_id=str(project.pk)) == ["ours", "Due: Write"]
    everything = call_handler("list_calendar_events", calendar_scope="user", project_id=str(project.pk))
    assert everything.result["total"] == 3
    assert "project_id" in everything.warnings[0]


def test_query_matches_every_word_in_title_description_or_location(db: None) -> None:
    make_own_event("Überblick", description="with Ines")
    make_own_event("Lunch", location="Café INES")
    make_own_event("Lunch alone")

    assert list_titles(query="ines lunch") == ["Lunch"]
    assert list_titles(query="überblick") == ["Überblick"]
    with pytest.raises(InvalidArgs):
        list_events(query="  ")


@for_each(
    "args, expected",
    [
        ({"time_min": "2026-03-05", "time_max": "2026-03-04"}, [("/time_max", "out_of_order")]),
        ({"time_max": "2026-03-01"}, [("/time_max", "out_of_order")]),
        ({"time_min": "2026-03-01", "time_max": "2027-03-02"}, [("/time_max", "too_long")]),
        (
            {"time_min": "9999-12-31T23:59", "time_max": "0001-01-01"},
            [("/time_min", "impossible_time"), ("/time_max", "impossible_time")],
        ),
        ({"time_zone": "../etc/passwd"}, [("/time_zone", "unknown_zone")]),
        ({"calendar_scope": "project"}, [("/project_id", "required")]),
        ({"cursor": "nonsense"}, [("/cursor", "malformed_cursor")]),
    ],
    undone=True,
)
def test_list_refuses_an_empty_range(db: None, args: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert list_field_errors(lambda: list_events(**args)) == expected


def test_pages_list_every_event_once_while_time_passes(db: None) -> None:
    for hour in range(5):
        make_own_event(f"once {hour}", start_at=AT + timedelta(hours=hour))
    make_own_event("twin", start_at=AT)
    make_own_event("again", start_at=AT - 30 * DAY, recurrence="daily")
    days("whole", date(2026, 3, 1), recurrence="daily")

    chosen = {"limit": 4, "fields": ["start_at"]}
    first = list_events(**chosen)
    rows, later, cursor = first["events"], AT, first["next_cursor"]
    make_own_event("meanwhile", start_at=AT - timedelta(minutes=10))
    while cursor:
        later += timedelta(hours=7)
        page = list_events(**chosen, cursor=cursor, at=later)
        assert page["time_range"] == first["time_range"]
        rows += page["events"]
        cursor = page.get("next_cursor")

    instances = [(row["id"], row["start_at"]) for row in rows]
    assert len(instances) == len(set(instances)) == first["total"] == 22
    assert not page["has_more"]


@for_each(
    "other",
    [{"query": "x"}, {"time_max": "2026-03-08"}, {"calendar_id": "primary"}, {"fields": ["title"]}],
    undone=True,
)
def test_cursor_of_another_list_is_refused(db: None, other: dict[str, str]) -> None:
    make_own_event(recurrence="daily")
    make_own_event()

    cursor = list_events(limit=1)["next_cursor"]

    assert list_field_errors(lambda: list_events(limit=1, cursor=cursor, **other)) == [("/cursor", "malformed_cursor")]


def test_list_query_count_does_not_depend_on_its_length_which_is_limited(
    db: None, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    project = ProjectFactory()
    for number in range(40):
        EventFactory(project=project, start_at=AT + timedelta(hours=number))
    make_own_event(recurrence="daily")

    with django_assert_max_num_queries(3):  # the time zone, the times, the rows
        assert len(list_events(limit=50, fields=["title"])["events"]) == 48
    with django_assert_max_num_queries(4):  # and the project
        list_events(project_id=str(project.pk))
    monkeypatch.setattr(event_list, "MAX_OCCURRENCES", 48)
    assert list_events()["total"] == 41
    assert list_field_errors(lambda: list_events(time_max="2026-03-20")) == [("/time_max", "too_many")]
