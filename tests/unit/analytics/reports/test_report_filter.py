"""What a report is about: whole days of UTC, and what they are narrowed to."""

from datetime import UTC, date, datetime, timedelta

import pytest

from analytics.reports import report_filter
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from tests.unit.analytics.reports.conftest import NOON, Write

pytestmark = pytest.mark.both_databases


def test_days_are_today_and_those_before() -> None:
    of = ReportFilter(NOON, 7)

    assert (of.first_day, of.last_day) == (date(2026, 3, 4), date(2026, 3, 10))
    assert ReportFilter(datetime(2026, 3, 10, 23, tzinfo=UTC), 1).first_day == date(2026, 3, 10)


def test_rows_of_the_first_and_the_last_moment_are_in_it(daily: Write, turn: Write) -> None:
    midnight = datetime(2026, 3, 4, tzinfo=UTC)
    for time in (midnight, midnight - timedelta(microseconds=1), NOON.replace(hour=23), NOON + timedelta(days=1)):
        turn(time=time)
    for days_ago in (6, 7, 0):
        daily(days_ago=days_ago)

    assert ReportFilter(NOON, 7).select_turns().count() == 2
    assert ReportFilter(NOON, 7).select_daily_figures().count() == 2


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("", ["", "dev", "dev copy-b", "copy-b", "a copy-b dev", "dev-team", "copy-b2"]),
        ("dev", ["dev", "dev copy-b", "a copy-b dev"]),
        ("copy-b", ["dev copy-b", "copy-b", "a copy-b dev"]),
        ("copy", []),
        (NO_COHORT, [""]),
    ],
)
def test_cohort_is_one_of_those_that_decided(turn: Write, asked: str, found: list[str]) -> None:
    for cohort in ("", "dev", "dev copy-b", "copy-b", "a copy-b dev", "dev-team", "copy-b2"):
        turn(cohort=cohort)

    assert (
        list(ReportFilter(NOON, cohort=asked).select_turns().order_by("id").values_list("cohort", flat=True)) == found
    )


@pytest.mark.parametrize("name", ["surface", "release", "model"])
def test_others_are_exact(turn: Write, daily: Write, selection: Write, name: str) -> None:
    for value in ("a", "ab", ""):
        turn(**{name: value})
        daily(**{name: value})
        selection(**{name: value})
    of = ReportFilter(NOON).narrow(name, "a")

    assert [rows.count() for rows in (of.select_turns(), of.select_daily_figures(), of.select_tool_selections())] == [
        1,
        1,
        1,
    ]


def test_what_was_seen_is_there_to_choose(daily: Write) -> None:
    daily(surface="gateway", cohort="dev copy-b", model="claude")
    daily(days_ago=80, surface="legacy", release="r0")
    daily(days_ago=91, surface="gone")

    assert report_filter.list_filter_values(NOON) == {
        "surface": ["gateway", "legacy"],
        "cohort": ["copy-b", "dev"],
        "release": ["r0", "r1"],
        "model": ["claude"],
    }
