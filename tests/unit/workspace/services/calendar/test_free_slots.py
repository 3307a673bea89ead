"""Arithmetic of free time: on any spans, and on days on which the clocks change."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tests.support.loops import for_each
from workspace.models import working_week
from workspace.services.calendar import free_time
from workspace.services.time import times
from workspace.services.time.recurrence import MomentSpan

BERLIN = ZoneInfo("Europe/Berlin")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ZERO = datetime(2026, 3, 2, tzinfo=UTC)


def at(minute: int) -> datetime:
    return ZERO + timedelta(minutes=minute)


def span(begin: int, end: int) -> MomentSpan:
    return at(begin), at(end)


def minutes(spans: list[MomentSpan]) -> set[int]:
    """Return each minute in a span."""
    return {
        minute
        for begin, end in spans
        for minute in range((begin - ZERO) // timedelta(minutes=1), (end - ZERO) // timedelta(minutes=1))
    }


some_spans = st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)).map(lambda ends: span(*ends)), max_size=8)


@given(hours=some_spans, busy=some_spans, least=st.integers(0, 60).map(lambda number: timedelta(minutes=number)))
def test_free_time_is_all_long_enough_time_in_the_hours_that_is_not_busy(
    hours: list[MomentSpan], busy: list[MomentSpan], least: timedelta
) -> None:
    slots = free_time.find_free_slots(hours, busy, min_length=least)

    open_, busy_minutes = minutes(free_time.merge_spans(hours)), minutes(free_time.merge_spans(busy))
    assert open_ == minutes([each for each in hours if each[0] < each[1]])
    assert minutes(slots) <= open_ - busy_minutes
    assert all(end - begin >= max(least, timedelta(minutes=1)) for begin, end in slots)
    assert slots == sorted(slots)
    for begin, end in slots:  # no slot could start earlier or end later
        before, after = (begin - ZERO) // timedelta(minutes=1) - 1, (end - ZERO) // timedelta(minutes=1)
        assert before not in open_ - busy_minutes
        assert after not in open_ - busy_minutes
    every = free_time.find_free_slots(hours, busy, min_length=timedelta())  # only slots that are too short are omitted
    assert minutes(every) == open_ - busy_minutes
    assert slots == [each for each in every if each[1] - each[0] >= least]


def test_touching_spans_are_merged_and_empty_ones_dropped() -> None:
    assert free_time.merge_spans([span(60, 120), span(0, 60), span(200, 200), span(300, 250)]) == [span(0, 120)]


def local(hours: working_week.Week, first: str, last: str, *, zone: ZoneInfo = BERLIN) -> list[str]:
    """Return the working hours of these days in local time."""
    after, before = (times.parse_time(f"{day}T00:00", zone=zone) for day in (first, last))
    spans = free_time.merge_spans(free_time.iter_working_spans(hours, zone=zone, after=after, before=before))
    return [" to ".join(times.format_time(each, zone=zone) for each in both) for both in spans]


def test_working_hours_keep_local_time_when_the_clocks_change() -> None:
    hours = {"saturday": ["09:00-17:00"], "monday": ["09:00-17:00"]}
    overnight = {"monday": ["22:00-24:00"], "tuesday": ["00:00-06:00"]}
    monday = local({"monday": ["00:00-24:00"]}, "2026-06-01", "2026-06-08", zone=ZoneInfo("Pacific/Auckland"))

    assert local(hours, "2026-03-28", "2026-03-31") == [
        "2026-03-28T09:00:00+01:00 to 2026-03-28T17:00:00+01:00",
        "2026-03-30T09:00:00+02:00 to 2026-03-30T17:00:00+02:00",
    ]
    assert local(overnight, "2026-06-01", "2026-06-08") == ["2026-06-01T22:00:00+02:00 to 2026-06-02T06:00:00+02:00"]
    assert monday == ["2026-06-01T00:00:00+12:00 to 2026-06-02T00:00:00+12:00"]  # it starts on Sunday in UTC


@for_each(
    "spans, day, expected",
    [
        (["01:00-04:00"], "2026-03-29", ["2026-03-29T01:00:00+01:00 to 2026-03-29T04:00:00+02:00"]),  # two hours long
        (["02:00-03:00"], "2026-03-29", []),  # the clocks skip it
        (["02:30-03:00"], "2026-03-29", []),
        (["02:30-04:00"], "2026-03-29", ["2026-03-29T03:30:00+02:00 to 2026-03-29T04:00:00+02:00"]),
        (["01:00-04:00"], "2026-10-25", ["2026-10-25T01:00:00+02:00 to 2026-10-25T04:00:00+01:00"]),  # four hours
        (["02:00-03:00"], "2026-10-25", ["2026-10-25T02:00:00+02:00 to 2026-10-25T03:00:00+01:00"]),  # both of them
        (["00:00-24:00"], "2026-03-29", ["2026-03-29T00:00:00+01:00 to 2026-03-30T00:00:00+02:00"]),
    ],
)
def test_working_hours_on_the_day_of_a_clock_change(spans: list[str], day: str, expected: list[str]) -> None:
    last = (datetime.fromisoformat(day) + DAY).date().isoformat()

    assert local({"sunday": spans}, day, last) == expected


def test_working_hours_are_cut_to_the_range() -> None:
    after, before = times.parse_time("2026-06-01T10:15:00+02:00"), times.parse_time("2026-06-02T10:00:00+02:00")

    spans = free_time.merge_spans(
        free_time.iter_working_spans(working_week.usual(), zone=BERLIN, after=after, before=before)
    )

    assert [end - begin for begin, end in spans] == [timedelta(hours=6, minutes=45), HOUR]


@for_each("days_off, days", [(False, 5), (True, 7)])
def test_preferred_hours_replace_working_hours(days_off: bool, days: int) -> None:
    hours = free_time.build_preferred_week(working_week.usual(), [18, 20, 19, 23, 18], include_days_off=days_off)

    working_week.validate_week(hours)
    assert working_week.parse_spans(hours, 0) == [(1080, 1140), (1140, 1200), (1200, 1260), (1380, 1440)]
    assert sum(bool(working_week.parse_spans(hours, day)) for day in range(7)) == days
