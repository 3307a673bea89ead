"""What calls and turns come to: a day, under each of something, and altogether."""

from datetime import UTC, date, datetime

import pytest

from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from tests.unit.analytics.reports.conftest import NOON, Write

pytestmark = pytest.mark.both_databases


def test_rates_are_of_what_they_say() -> None:
    of = Totals(
        calls=200,
        failed=20,
        mended=15,
        unknown_names=3,
        searches=10,
        misses=1,
        latency_ms=500.0,
        turns=50,
        calling=40,
        succeeding=38,
        lost=2,
        looping=5,
    )

    assert (of.failure_rate, of.repair_rate, of.miss_rate) == (0.1, 0.75, 0.1)
    assert (of.success_rate, of.loop_rate) == (0.95, 0.1)
    assert (of.unknown_per_thousand, of.mean_latency_ms) == (15.0, 2.5)


@pytest.mark.parametrize(
    "name",
    *[
        [
            "failure_rate",
            "repair_rate",
            "miss_rate",
            "success_rate",
            "loop_rate",
            "unknown_per_thousand",
            "mean_latency_ms",
        ]
    ],
)
def test_there_is_no_rate_of_nothing(name: str) -> None:
    assert getattr(Totals(), name) is None


def test_every_day_is_told_in_order(daily: Write, turn: Write) -> None:
    daily(days_ago=2, calls=5, invalid=1, internal=1, mended=1)
    daily("onto.task.get", days_ago=2, calls=4, unknown_names=1)
    turn(time=datetime(2026, 3, 8, 23, 59, tzinfo=UTC), calls=2, failed=2)
    turn(time=datetime(2026, 3, 9, 0, 0, tzinfo=UTC), calls=2, failed=1, repeats=1, unknown_names=2)

    found = totals.sum_by_day(ReportFilter(NOON, 7))

    assert list(found) == [date(2026, 3, day) for day in range(4, 11)]
    assert found[date(2026, 3, 8)] == Totals(calls=9, failed=2, mended=1, unknown_names=1, turns=1, calling=1)
    assert found[date(2026, 3, 9)] == Totals(turns=1, calling=1, succeeding=1, lost=1, looping=1)
    assert found[date(2026, 3, 10)] == Totals()
    assert totals.sum_period(ReportFilter(NOON, 7)) == found[date(2026, 3, 8)] + found[date(2026, 3, 9)]


def test_cohorts_that_decided_together_count_for_each(daily: Write, turn: Write) -> None:
    daily(cohort="dev copy-b", calls=3)
    daily(cohort="dev", calls=2)
    daily(calls=4)
    turn(cohort="copy-b")

    found = totals.sum_by_value(ReportFilter(NOON), "cohort")

    assert found == {
        NO_COHORT: Totals(calls=4),
        "copy-b": Totals(calls=3, turns=1),
        "dev": Totals(calls=5),
    }


def test_models_that_were_not_told_are_one(daily: Write) -> None:
    daily(model="claude", calls=3)
    daily(calls=2)

    assert {name: each.calls for name, each in totals.sum_by_value(ReportFilter(NOON), "model").items()} == {
        "": 2,
        "claude": 3,
    }


def test_ops_that_were_called_are_told_by_name(daily: Write) -> None:
    daily(calls=3, not_found=1)
    daily(days_ago=1, calls=2, denied=1)
    daily("onto.task", list_reads=9)
    daily("", calls=1, searches=4)

    found = totals.sum_by_op(ReportFilter(NOON))

    assert {op: (each.calls, each.failed) for op, each in found.items()} == {"": (1, 0), "onto.task.update": (5, 2)}
