"""Lists of events: which they are, in which order, page by page."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.support.factories import (
    MADE_AT,
    EventFactory,
    MembershipFactory,
    ProfileFactory,
    ProjectFactory,
    TaskFactory,
)
from tests.support.handler_calls import AT, call
from workspace.errors import InvalidArgs, NotFound
from workspace.models import MemberRole
from workspace.services.calendar import event_list, task_events

pytestmark = pytest.mark.both_databases

DAY = timedelta(days=1)
WEEK = {"time_min": "2026-03-02", "time_max": "2026-03-08"}


def own(title: str = "", **fields: Any) -> Any:
    named = {"title": title} if title else {}
    return EventFactory(**({"project": None, "subject": "owner", "start_at": AT + timedelta(hours=1)} | named | fields))


def days(title: str, first: date, last: date | None = None, **fields: Any) -> Any:
    return own(title, start_at=None, end_at=None, start_date=first, end_date=last or first, **fields)


def listed(**args: Any) -> Any:
    return call("list_calendar_events", **args).result


def titles(**args: Any) -> list[str]:
    return [row["title"] for row in listed(**args)["events"]]


def codes(refused: Any) -> list[tuple[str, str]]:
    return [(error.path, error.code) for error in refused.value.field_errors]


def test_list_is_of_the_next_seven_days_of_local_time(db: None) -> None:
    ProfileFactory(subject="owner", time_zone="Europe/Berlin")
    before_the_change = datetime(2026, 3, 27, 12, 0, tzinfo=UTC)

    answer = listed(at=before_the_change)

    assert answer == {
        "events": [],
        "total": 0,
        "has_more": False,
        "time_range": {
            "time_min": "2026-03-27T13:00:00+01:00",
            "time_max": "2026-04-03T13:00:00+02:00",  # an hour less has passed than in 168
            "time_zone": "Europe/Berlin",
        },
        "message": "0 of 0 events in the user's own calendar and projects, earliest first. "
        "cal.event.get returns the complete event.",
    }


def test_row_is_abbreviated(db: None) -> None:
    task = TaskFactory(project__name="Garden")
    full = own("Full", description="d", attendees=["a"], location="l", recurrence="weekly")
    bare = EventFactory(title="Bare", project=task.project, task=task, start_at=AT + DAY)

    rows = listed(time_max="2026-03-04")["events"]

    assert rows == [
        {
            "id": str(full.pk),
            "title": "Full",
            "start_at": "2026-03-02T13:30:00Z",
            "end_at": "2026-03-02T14:30:00Z",
            "is_all_day": False,
            "has_description": True,
            "has_attendees": True,
            "location": "l",
            "recurrence": "weekly",
        },
        {
            "id": str(bare.pk),
            "title": "Bare",
            "start_at": "2026-03-03T12:30:00Z",
            "end_at": "2026-03-03T13:30:00Z",
            "is_all_day": False,
            "has_description": False,
            "has_attendees": False,
            "linked_task_id": str(task.pk),
            "project_id": str(task.project_id),
            "project_name": "Garden",
        },
    ]


def test_list_has_what_takes_place_in_part_within_it(db: None) -> None:
    own("running", start_at=AT - timedelta(minutes=30))
    own("over", start_at=AT - timedelta(hours=1))
    own("begins at the end", start_at=AT + 7 * DAY)
    own("last", start_at=AT + 7 * DAY - timedelta(minutes=1))

    assert titles() == ["running", "last"]


def test_whole_days_are_days_of_the_zone(db: None) -> None:
    days("before", date(2026, 3, 1))
    days("across", date(2026, 3, 1), date(2026, 3, 2))
    days("that day", date(2026, 3, 2))
    days("after", date(2026, 3, 3))
    own("night", start_at=datetime(2026, 3, 1, 23, 30, tzinfo=UTC))

    one_day = {"time_min": "2026-03-02", "time_max": "2026-03-02"}
    berlin = listed(**one_day, time_zone="Europe/Berlin")

    assert [row["title"] for row in berlin["events"]] == ["across", "that day", "night"]
    assert (berlin["time_range"]["time_min"], berlin["time_range"]["time_max"]) == (
        "2026-03-02T00:00:00+01:00",
        "2026-03-03T00:00:00+01:00",
    )
    assert [(row["start_at"], row["end_at"], row["is_all_day"]) for row in berlin["events"][:2]] == [
        ("2026-03-01", "2026-03-02", True),
        ("2026-03-02", "2026-03-02", True),
    ]


def test_what_comes_again_stands_there_once_for_each_time_at_the_same_local_time(db: None) -> None:
    own("stand-up", start_at=datetime(2026, 3, 2, 8, 0, tzinfo=UTC), recurrence="weekdays", time_zone="Europe/Berlin")
    days("bins", date(2026, 3, 3), recurrence="biweekly")

    rows = listed(time_min="2026-03-26", time_max="2026-03-31", time_zone="Europe/Berlin")["events"]

    assert [row["start_at"] for row in rows] == [
        "2026-03-26T09:00:00+01:00",
        "2026-03-27T09:00:00+01:00",
        "2026-03-30T09:00:00+02:00",  # the clocks have changed, 09:00 has not
        "2026-03-31",
        "2026-03-31T09:00:00+02:00",
    ]
    assert len({row["id"] for row in rows}) == 2


def test_what_comes_again_ends(db: None) -> None:
    until = datetime(2026, 3, 4, 23, 59, tzinfo=UTC)
    own("timed", start_at=AT, recurrence="daily", recurrence_until=until)
    days("whole", date(2026, 3, 2), recurrence="daily", recurrence_until=until)

    assert titles(**WEEK) == ["whole", "timed"] * 3
    assert titles(time_min="2026-06-01") == []


def test_long_event_that_comes_again_is_found_while_it_goes_on(db: None) -> None:
    own("watch", start_at=AT - 10 * DAY, end_at=AT - 5 * DAY, recurrence="biweekly")
    days("leave", date(2026, 2, 2), date(2026, 2, 8), recurrence="monthly")

    assert titles(time_min="2026-03-07", time_max="2026-03-07") == ["leave", "watch"]


def test_list_shows_own_events_those_of_projects_and_the_dates_of_tasks(db: None) -> None:
    own("mine")
    own("theirs", subject="somebody")
    own("deleted", deleted_at=MADE_AT)
    project = ProjectFactory(created_by="somebody")
    MembershipFactory(project=project, subject="owner", role=MemberRole.VIEWER)
    EventFactory(title="ours", project=project, start_at=AT + 2 * DAY)
    EventFactory(title="foreign", project__created_by="somebody", start_at=AT + DAY)
    task = TaskFactory(project=project, title="Write", due_at=AT + 3 * DAY)
    task_events.sync_events([task], by="somebody", at=AT)
    gone = TaskFactory(project=project, due_at=AT + 3 * DAY, deleted_at=MADE_AT)
    task_events.sync_events([gone], by="somebody", at=AT)

    assert titles() == titles(calendar_scope="user") == ["mine", "ours", "Due: Write"]
    assert titles(calendar_id="primary") == titles(calendar_scope="calendar_id", calendar_id="primary") == ["mine"]
    assert titles(project_id=str(project.pk)) == ["ours", "Due: Write"]
    assert titles(calendar_scope="project", project_id=str(project.pk)) == ["ours", "Due: Write"]
    everything = call("list_calendar_events", calendar_scope="user", project_id=str(project.pk))
    assert everything.result["total"] == 3
    assert "project_id" in everything.warnings[0]


def test_foreign_and_missing_projects_are_refused_in_the_same_words(db: None) -> None:
    told = set()
    for id in (ProjectFactory(created_by="somebody").pk, uuid4()):
        with pytest.raises(NotFound) as refused:
            listed(project_id=str(id))
        told.add(refused.value.message)

    assert len(told) == 1


def test_query_finds_every_word_in_title_text_or_place(db: None) -> None:
    own("Überblick", description="with Ines")
    own("Lunch", location="Café INES")
    own("Lunch alone")

    assert titles(query="ines lunch") == ["Lunch"]
    assert titles(query="überblick") == ["Überblick"]
    with pytest.raises(InvalidArgs):
        listed(query="  ")


@pytest.mark.parametrize(
    ("args", "expected"),
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
)
def test_list_of_no_time_is_refused(db: None, args: dict[str, str], expected: list[tuple[str, str]]) -> None:
    with pytest.raises(InvalidArgs) as refused:
        listed(**args)

    assert codes(refused) == expected


def test_pages_have_every_event_once_though_time_goes_on(db: None) -> None:
    for hour in range(5):
        own(f"once {hour}", start_at=AT + timedelta(hours=hour))
    own("twin", start_at=AT)
    own("again", start_at=AT - 30 * DAY, recurrence="daily")
    days("whole", date(2026, 3, 1), recurrence="daily")

    first = listed(limit=4)
    seen, later, cursor = first["events"], AT, first["next_cursor"]
    own("meanwhile", start_at=AT - timedelta(minutes=10))
    while cursor:
        later += timedelta(hours=7)
        page = listed(limit=4, cursor=cursor, at=later)
        assert page["time_range"] == first["time_range"]
        seen += page["events"]
        cursor = page.get("next_cursor")

    instances = [(row["id"], row["start_at"]) for row in seen]
    assert len(instances) == len(set(instances)) == first["total"] == 21
    assert not page["has_more"]


@pytest.mark.parametrize("other", [{"query": "x"}, {"time_max": "2026-03-08"}, {"calendar_id": "primary"}])
def test_cursor_of_another_list_is_refused(db: None, other: dict[str, str]) -> None:
    own(recurrence="daily")

    cursor = listed(limit=1)["next_cursor"]

    with pytest.raises(InvalidArgs) as refused:
        listed(limit=1, cursor=cursor, **other)
    assert codes(refused) == [("/cursor", "malformed_cursor")]


def test_too_many_events_are_refused_and_not_cut(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_list, "MAX_OCCURRENCES", 6)
    own(recurrence="daily")
    assert listed(time_max="2026-03-07")["total"] == 6

    with pytest.raises(InvalidArgs) as refused:
        listed()

    assert codes(refused) == [("/time_max", "too_many")]


def test_list_costs_the_same_however_long(db: None, django_assert_max_num_queries: Any) -> None:
    project = ProjectFactory()
    for number in range(40):
        EventFactory(project=project, start_at=AT + timedelta(hours=number))
    own(recurrence="daily")

    with django_assert_max_num_queries(3):  # the zone, the times, the rows
        assert len(listed(limit=50)["events"]) == 47
    with django_assert_max_num_queries(4):  # and the project
        listed(project_id=str(project.pk))
