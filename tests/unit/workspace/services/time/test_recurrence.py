"""Recurrence in local time: clock changes, months of all lengths, and the earliest and latest dates."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from workspace.models import Recurrence
from workspace.services.time import recurrence, times

BERLIN, NEW_YORK, UTC_ZONE = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("UTC")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def list_starts(rule: str, first: str, *, days: float = 60, until: str = "") -> list[str]:
    """Return when the instances in these days start, in Berlin."""
    start = times.parse_time(first, zone=BERLIN)
    end = times.parse_time(until, zone=BERLIN) if until else None
    spans = recurrence.list_occurrences(
        rule, first=(start, start + HOUR), zone=BERLIN, after=start, before=start + days * DAY - 2 * HOUR, until=end
    )
    return [times.format_time(each, zone=BERLIN) for each, _ in spans]


@for_each(
    "rule, first, days, expected",
    [
        # The local time stays when summer time begins. A time that the clocks skip is later on that day only.
        ("daily", "2026-03-28T09:00", 3, ["28T09:00:00+01:00", "29T09:00:00+02:00", "30T09:00:00+02:00"]),
        ("daily", "2026-03-28T02:30", 3, ["28T02:30:00+01:00", "29T03:30:00+02:00", "30T02:30:00+02:00"]),
        # Of a time that occurs twice, the first is meant, unless the series begins with the second.
        ("daily", "2026-10-24T02:30", 3, ["24T02:30:00+02:00", "25T02:30:00+02:00", "26T02:30:00+01:00"]),
        ("daily", "2026-10-25T02:30:00+01:00", 2, ["25T02:30:00+01:00", "26T02:30:00+01:00"]),
        ("daily", "2026-03-02T09:00:00.25", 2, ["02T09:00:00.250000+01:00", "03T09:00:00.250000+01:00"]),
        ("", "2026-03-27T09:00", 60, ["27T09:00:00+01:00"]),
    ],
)
def test_recurrence_keeps_the_local_time(rule: str, first: str, days: int, expected: list[str]) -> None:
    assert [text[8:] for text in list_starts(rule, first, days=days)] == expected


def test_monthly_recurrence_on_the_31st_uses_the_last_day_of_shorter_months() -> None:
    expected = ["2027-10-31", "2027-11-30", "2027-12-31", "2028-01-31", "2028-02-29", "2028-03-31", "2028-04-30"]
    assert [text[:10] for text in list_starts("monthly", "2027-10-31T10:00", days=190)] == expected
    leap = [text[:10] for text in list_starts("monthly", "2024-02-29T10:00", days=366)]
    assert (leap[:2], leap[-1]) == (["2024-02-29", "2024-03-29"], "2025-02-28")


def test_until_may_equal_the_last_start() -> None:
    assert len(list_starts("daily", "2026-03-27T09:00", until="2026-03-30T09:00")) == 4
    assert len(list_starts("daily", "2026-03-27T09:00", until="2026-03-30T08:59:59")) == 3


@for_each(
    "rule, number, last",
    [
        ("daily", 1, "2026-03-27T09:00:00+01:00"),
        ("daily", 4, "2026-03-30T09:00:00+02:00"),
        ("weekdays", 3, "2026-03-31T09:00:00+02:00"),
        ("monthly", 12, "2027-02-27T09:00:00+01:00"),
    ],
)
def test_nth_counts_the_first(rule: str, number: int, last: str) -> None:
    first = times.parse_time("2026-03-27T09:00", zone=BERLIN)

    assert (
        times.format_time(recurrence.get_nth_start(rule, first=first, zone=BERLIN, number=number), zone=BERLIN) == last
    )


@given(
    rule=st.sampled_from(Recurrence.values),
    first=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - local times
    number=st.integers(0, 400),
)
def test_start_of_an_occurrence_is_found_without_those_before_it(rule: str, first: datetime, number: int) -> None:
    begin = times.localize(first, BERLIN)
    last = recurrence.get_nth_start(rule, first=begin, zone=BERLIN, number=number + 1)

    assert recurrence.get_start(rule, first=begin, zone=BERLIN, number=number) == last
    assert recurrence.find_number(rule, first=begin, zone=BERLIN, start=last) == number


def test_whole_day_events_recur_as_dates() -> None:
    days = recurrence.list_days("monthly", first=date(2026, 1, 31), after=date(2026, 2, 1), before=date(2026, 5, 1))

    assert days == [date(2026, 2, 28), date(2026, 3, 31), date(2026, 4, 30)]
    assert recurrence.list_days("", first=date(2026, 1, 31), after=date(2026, 2, 1), before=date(2026, 5, 1)) == []
    once = recurrence.list_days("", first=date(2026, 1, 31), after=date(2026, 1, 1), before=date(2026, 5, 1))
    assert once == [date(2026, 1, 31)]
    weekend = recurrence.list_days(
        "weekdays", first=date(2026, 5, 30), after=date(2026, 5, 30), before=date(2027, 1, 1), until=date(2026, 6, 1)
    )
    assert weekend == [date(2026, 5, 30), date(2026, 6, 1)]


@for_each("rule", Recurrence.values)
@for_each("first", ["0001-01-01T00:00:00Z", "9999-12-31T22:00:00Z"])
@for_each("zone", [NEW_YORK, ZoneInfo("Asia/Tokyo")])
def test_earliest_and_latest_times_cause_no_error(rule: str, first: str, zone: ZoneInfo) -> None:
    begin = times.parse_time(first)
    whole = {"after": datetime.min.replace(tzinfo=UTC), "before": datetime.max.replace(tzinfo=UTC)}

    expected = (begin, begin + HOUR)
    assert recurrence.list_occurrences(rule, first=(begin, begin + HOUR), zone=zone, **whole)[0] == expected
    assert recurrence.get_nth_start(rule, first=begin, zone=zone, number=3) >= begin
    days = recurrence.list_days(rule, first=begin.date(), after=date.min, before=date.max)
    assert (begin.date() in days) == (begin.date() < date.max)


def test_recurrence_that_started_long_ago_is_expanded_fast_and_limited() -> None:
    first, now = datetime(1, 1, 1, 9, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
    spans: dict[str, Any] = {"first": (first, first + HOUR), "zone": UTC_ZONE}

    for rule in Recurrence.values:
        assert recurrence.list_occurrences(rule, **spans, after=now, before=now + 40 * DAY)
    everything = recurrence.list_occurrences("daily", **spans, after=first, before=first + 9999 * DAY)
    assert len(everything) == recurrence.MAX_OCCURRENCES


def matches(rule: str, day: date, first: date) -> bool:
    if rule == "monthly":
        return day.day == first.day or (day.day < first.day and (day + DAY).day == 1)
    if rule == "weekdays":
        return day.weekday() < 5
    return (day - first).days % {"daily": 1, "weekly": 7, "biweekly": 14}[rule] == 0


@given(
    rule=st.sampled_from(Recurrence.values),
    zone=st.sampled_from([BERLIN, NEW_YORK, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Kathmandu")]),
    first=st.integers(0, 2 * 365 * 24 * 60).map(
        lambda minutes: datetime(2019, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
    ),
    length=st.integers(1, 60 * 50).map(lambda minutes: timedelta(minutes=minutes)),
    later=st.integers(-40, 1500).map(lambda days: timedelta(days=days)),
    window=st.integers(1, 70).map(lambda days: timedelta(days=days)),
)
def test_spans_agree_with_a_search_over_all_days(
    rule: str, zone: ZoneInfo, first: datetime, length: timedelta, later: timedelta, window: timedelta
) -> None:
    after = first + later
    before = after + window
    wall = first.astimezone(zone).replace(tzinfo=None)

    walked = {first}
    for days in range(1, 1700):
        day = wall + timedelta(days=days)
        if matches(rule, day.date(), wall.date()):
            walked.add(times.localize(day, zone))
    expected = [(each, each + length) for each in sorted(walked) if each < before and each + length > after]

    spans = recurrence.list_occurrences(rule, first=(first, first + length), zone=zone, after=after, before=before)
    assert spans == expected
