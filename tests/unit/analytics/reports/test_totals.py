"""Totals of calls and turns: by day, by value, and over a period."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals
from analytics.turns.models import Feedback
from tests.support.rows.analytics_rows import NOON, CreateRow

pytestmark = pytest.mark.both_databases


def test_rates_are_computed_from_their_figures() -> None:
    calls: Any = {"calls": 200, "failed": 20, "repaired": 15, "unknown_names": 3, "latency_ms": 500.0}
    turns = {"turns": 50, "calling": 40, "succeeding": 38, "lost": 2, "looping": 5}
    sums = Totals(**calls, **turns, searches=10, misses=1, rated=8, thumbs_up=6)

    assert (sums.failure_rate, sums.repair_rate, sums.miss_rate) == (0.1, 0.75, 0.1)
    assert (sums.success_rate, sums.loop_rate, sums.thumbs_up_rate) == (0.95, 0.1, 0.75)
    assert (sums.unknown_per_thousand, sums.mean_latency_ms) == (15.0, 2.5)


def test_rates_without_figures_are_none() -> None:
    names = "failure_rate repair_rate miss_rate success_rate loop_rate thumbs_up_rate".split()
    names += ["unknown_per_thousand", "mean_latency_ms"]

    assert {getattr(Totals(), name) for name in names} == {None}


def test_sum_by_day_has_every_day_in_order(daily: CreateRow, turn: CreateRow) -> None:
    daily(days_ago=2, calls=5, invalid=1, internal=1, repaired=1)
    daily("onto.task.get", days_ago=2, calls=4, unknown_names=1)
    turn(time=datetime(2026, 3, 8, 23, 59, tzinfo=UTC), calls=2, failed=2)
    turn(time=datetime(2026, 3, 9, 0, 0, tzinfo=UTC), calls=2, failed=1, repeats=1, unknown_names=2)

    result = totals.sum_by_day(ReportFilter(NOON, 7))

    assert list(result) == [date(2026, 3, day) for day in range(4, 11)]
    assert result[date(2026, 3, 8)] == Totals(calls=9, failed=2, repaired=1, unknown_names=1, turns=1, calling=1)
    assert result[date(2026, 3, 9)] == Totals(turns=1, calling=1, succeeding=1, lost=1, looping=1)
    assert result[date(2026, 3, 10)] == Totals()
    assert totals.sum_period(ReportFilter(NOON, 7)) == result[date(2026, 3, 8)] + result[date(2026, 3, 9)]


def test_ratings_count_by_the_day_and_the_cohort_of_their_turn(db: None) -> None:
    for number, (thumb, cohort) in enumerate((("up", "dev copy-b"), ("down", "dev"), ("up", ""))):
        Feedback.objects.create(time=NOON, client="chat", turn=f"t{number}", thumb=thumb, cohort=cohort)
    scope = ReportFilter(NOON, 7)

    assert totals.sum_period(scope) == totals.sum_by_day(scope)[NOON.date()] == Totals(rated=3, thumbs_up=2)
    assert totals.sum_by_value(scope, "cohort") == {
        NO_COHORT: Totals(rated=1, thumbs_up=1),
        "copy-b": Totals(rated=1, thumbs_up=1),
        "dev": Totals(rated=2, thumbs_up=1),
    }


def test_calls_with_several_cohorts_count_for_each(daily: CreateRow, turn: CreateRow) -> None:
    daily(cohort="dev copy-b", calls=3)
    daily(cohort="dev", calls=2)
    daily(calls=4)
    turn(cohort="copy-b")

    result = totals.sum_by_value(ReportFilter(NOON), "cohort")

    assert result == {NO_COHORT: Totals(calls=4), "copy-b": Totals(calls=3, turns=1), "dev": Totals(calls=5)}


def test_calls_without_a_model_are_summed_together(daily: CreateRow) -> None:
    daily(model="claude", calls=3)
    daily(calls=2)

    sums = totals.sum_by_value(ReportFilter(NOON), "model")
    assert {name: each.calls for name, each in sums.items()} == {"": 2, "claude": 3}


def test_sum_by_op_has_ops_with_calls(daily: CreateRow) -> None:
    daily(calls=3, not_found=1)
    daily(days_ago=1, calls=2, denied=1)
    daily("onto.task", list_reads=9)
    daily("", calls=1, searches=4)

    result = totals.sum_by_op(ReportFilter(NOON))

    assert {op: (each.calls, each.failed) for op, each in result.items()} == {"": (1, 0), "onto.task.update": (5, 2)}
