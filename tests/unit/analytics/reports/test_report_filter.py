"""The filter of a report: whole UTC days, and the values that it narrows to."""

from datetime import UTC, date, datetime, timedelta

import pytest

from analytics.reports import report_filter
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON, CreateRow

pytestmark = pytest.mark.both_databases


def test_days_are_today_and_the_days_before() -> None:
    chosen_filter = ReportFilter(NOON, 7)

    assert (chosen_filter.first_day, chosen_filter.last_day) == (date(2026, 3, 4), date(2026, 3, 10))
    assert ReportFilter(datetime(2026, 3, 10, 23, tzinfo=UTC), 1).first_day == date(2026, 3, 10)


@for_each(
    "first, last, expected",
    [
        (date(2026, 2, 1), date(2026, 2, 3), (date(2026, 2, 1), date(2026, 2, 3))),
        (date(2026, 3, 1), None, (date(2026, 3, 1), date(2026, 3, 10))),
        (None, date(2026, 2, 28), (date(2026, 2, 1), date(2026, 2, 28))),
        (date(2026, 3, 10), date(2026, 9, 1), (date(2026, 3, 10), date(2026, 3, 10))),
    ],
)
def test_chosen_days_end_today_at_the_latest(
    first: date | None, last: date | None, expected: tuple[date, date]
) -> None:
    chosen = report_filter.choose_days(NOON, first, last)

    assert (chosen.first_day, chosen.last_day) == expected
    assert chosen.is_over == (expected[1] < NOON.date())
    before = chosen.move_back()
    assert (before.days, before.last_day) == (chosen.days, expected[0] - timedelta(days=1))
    assert chosen.narrow("client", "chat").list_parameters() == {
        "from": expected[0].isoformat(),
        "to": expected[1].isoformat(),
        "client": "chat",
    }


@for_each(
    "first, last",
    [
        (date(2026, 3, 2), date(2026, 3, 1)),
        (date(2026, 3, 11), None),
        (date(2025, 1, 1), date(2026, 3, 1)),
        (date(1, 1, 1), None),
        (None, date(1, 1, 1)),
    ],
)
def test_days_that_no_report_covers_are_refused(first: date | None, last: date | None) -> None:
    with pytest.raises(report_filter.InvalidPeriod):
        report_filter.choose_days(NOON, first, last)


def test_filter_includes_the_first_and_the_last_moment(daily: CreateRow, turn: CreateRow) -> None:
    midnight = datetime(2026, 3, 4, tzinfo=UTC)
    for time in (midnight, midnight - timedelta(microseconds=1), NOON.replace(hour=23), NOON + timedelta(days=1)):
        turn(time=time)
    for days_ago in (6, 7, 0):
        daily(days_ago=days_ago)

    assert ReportFilter(NOON, 7).select_turns().count() == 2
    assert ReportFilter(NOON, 7).select_daily_figures().count() == 2


COHORTS = ["", "dev", "dev copy-b", "copy-b", "a copy-b dev", "dev-team", "copy-b2"]


@for_each(
    "cohort_name, expected",
    [
        ("", COHORTS),
        ("dev", ["dev", "dev copy-b", "a copy-b dev"]),
        ("copy-b", ["dev copy-b", "copy-b", "a copy-b dev"]),
        ("copy", []),
        (NO_COHORT, [""]),
    ],
    undone=True,
)
def test_cohort_filter_matches_one_of_several_cohorts(turn: CreateRow, cohort_name: str, expected: list[str]) -> None:
    for cohort in COHORTS:
        turn(cohort=cohort)

    turns = ReportFilter(NOON, cohort=cohort_name).select_turns().order_by("id")
    assert list(turns.values_list("cohort", flat=True)) == expected


@for_each("name", ["surface", "release", "model", "client"], undone=True)
def test_other_filters_match_exactly(turn: CreateRow, daily: CreateRow, selection: CreateRow, name: str) -> None:
    for value in ("a", "ab", "b"):
        turn(**{name: value})
        daily(**{name: value})
        selection(**{name: value})
    chosen = ReportFilter(NOON).narrow(name, "a")

    selected = (chosen.select_turns(), chosen.select_daily_figures(), chosen.select_tool_selections())
    assert [rows.count() for rows in selected] == [1, 1, 1]


def test_filter_values_are_those_seen_in_90_days(daily: CreateRow) -> None:
    daily(surface="gateway", cohort="dev copy-b", model="claude", client="chat")
    daily(days_ago=80, surface="legacy", release="r0")
    daily(days_ago=91, surface="gone")

    assert report_filter.list_filter_values(NOON) == {
        "surface": ["gateway", "legacy"],
        "cohort": ["copy-b", "dev"],
        "release": ["r0", "r1"],
        "model": ["claude"],
        "client": ["chat"],
    }
