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


@for_each("name", ["surface", "release", "model"], undone=True)
def test_other_filters_match_exactly(turn: CreateRow, daily: CreateRow, selection: CreateRow, name: str) -> None:
    for value in ("a", "ab", ""):
        turn(**{name: value})
        daily(**{name: value})
        selection(**{name: value})
    chosen = ReportFilter(NOON).narrow(name, "a")

    selected = (chosen.select_turns(), chosen.select_daily_figures(), chosen.select_tool_selections())
    assert [rows.count() for rows in selected] == [1, 1, 1]


def test_filter_values_are_those_seen_in_90_days(daily: CreateRow) -> None:
    daily(surface="gateway", cohort="dev copy-b", model="claude")
    daily(days_ago=80, surface="legacy", release="r0")
    daily(days_ago=91, surface="gone")

    assert report_filter.list_filter_values(NOON) == {
        "surface": ["gateway", "legacy"],
        "cohort": ["copy-b", "dev"],
        "release": ["r0", "r1"],
        "model": ["claude"],
    }
