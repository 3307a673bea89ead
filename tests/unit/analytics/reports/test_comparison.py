"""Comparing two variants: verdicts need enough data and a difference beyond chance."""

import pytest

from analytics.reports import comparison
from analytics.reports.comparison import METRICS, MIN_SAMPLE, ComparisonVerdict, Proportion
from analytics.reports.report_filter import ReportFilter
from analytics.reports.totals import Totals
from tests.support.rows.analytics_rows import NOON, CreateRow

pytestmark = pytest.mark.both_databases


def compare_metric(name: str, first: Totals, second: Totals, days: int = 7) -> comparison.MetricComparison:
    (metric,) = (each for each in comparison.compare_metrics(first, second, days=days) if each.metric.name == name)
    return metric


BETTER, WORSE = ComparisonVerdict.BETTER, ComparisonVerdict.WORSE
NONE, TOO_FEW = ComparisonVerdict.NONE, ComparisonVerdict.TOO_FEW
FAILURE, SUCCESS, LOOP = "Failure rate", "Turns with a successful call", "Turns with a loop"


@pytest.mark.parametrize(
    ("name", "first", "second", "verdict"),
    [
        (FAILURE, {"calls": 1_000, "failed": 100}, {"calls": 1_000, "failed": 50}, BETTER),
        (FAILURE, {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 100}, WORSE),
        (FAILURE, {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 55}, NONE),
        (FAILURE, {"calls": MIN_SAMPLE - 1, "failed": 40}, {"calls": 1_000, "failed": 1}, TOO_FEW),
        (FAILURE, {}, {"calls": 1_000}, TOO_FEW),
        (FAILURE, {"calls": 1_000}, {"calls": 1_000}, NONE),
        ("Repair rate", {"failed": 200, "repaired": 80}, {"failed": 200, "repaired": 160}, BETTER),
        (SUCCESS, {"calling": 200, "succeeding": 190}, {"calling": 200}, WORSE),
        ("Searches that found nothing", {"searches": 99, "misses": 50}, {"searches": 99}, BETTER),
    ],
)
def test_verdict_follows_from_the_interval(
    name: str, first: dict[str, int], second: dict[str, int], verdict: ComparisonVerdict
) -> None:
    assert compare_metric(name, Totals(**first), Totals(**second)).verdict == verdict


def test_every_metric_is_compared() -> None:
    comparisons = comparison.compare_metrics(Totals(), Totals(), days=7)

    assert [each.metric for each in comparisons] == list(METRICS)
    assert {each.verdict for each in comparisons} == {ComparisonVerdict.TOO_FEW}
    assert {each.difference for each in comparisons} == {None}


@pytest.mark.parametrize(("calls", "days"), [(25, 7), (49, 1), (5, 63), (0, None)])
def test_too_few_calls_give_the_days_to_wait(calls: int, days: int | None) -> None:
    assert compare_metric("Failure rate", Totals(calls=calls), Totals(calls=1_000)).days_to_wait == days


def test_difference_is_second_minus_first() -> None:
    compared = compare_metric("Failure rate", Totals(calls=100, failed=30), Totals(calls=100, failed=20))

    assert compared.difference == pytest.approx(-0.1)
    assert (compared.first, compared.second) == (Proportion(30, 100), Proportion(20, 100))


def test_changed_ops_are_those_beyond_chance(daily: CreateRow) -> None:
    for release, failed in (("r1", (40, 10, 1, 60)), ("r2", (10, 12, 40, 50))):
        for number, each in enumerate(failed):
            daily(f"op{number}", release=release, calls=100 if number != 2 else 45, invalid=each)
    daily("", release="r1", calls=100, not_found=100)
    daily("only", release="r2", calls=100, not_found=100)

    changes = comparison.find_changed_ops(ReportFilter(NOON), "release", "r1", "r2")

    assert [(each.op, round(each.difference, 2)) for each in changes] == [("op0", -0.3)]
    assert changes[0].interval.high < 0
