"""Verdicts never claim what may be chance, and never say to widen what got worse."""

import pytest
from hypothesis import given

from analytics.experiments.cohorts.comparison import ComparisonVerdict, MetricComparison
from analytics.experiments.cohorts.verdicts import DECIDING_METRICS, Advice, judge
from analytics.experiments.statistics import MIN_SUBJECTS
from tests.support.values.comparisons import Difference, any_comparisons, build_comparisons

BETTER, WORSE, NONE = (-0.05, 0.02), (0.05, 0.02), (0.0, 0.02)  # of a rate that is better if it is lower


@given(any_comparisons())
def test_verdict_claims_no_difference_that_may_be_chance(comparisons: list[MetricComparison]) -> None:
    verdict = judge(comparisons)

    claims = [*verdict.worse, *verdict.better]
    if verdict.advice in (Advice.WIDEN, Advice.STOP, Advice.HOLD):
        claims.append(verdict.reason)
    for each in claims:
        assert each.interval is not None
        assert not each.interval.low <= 0 <= each.interval.high
        assert min(each.subjects) >= MIN_SUBJECTS


@given(any_comparisons())
def test_verdict_never_widens_what_got_worse(comparisons: list[MetricComparison]) -> None:
    verdict = judge(comparisons)

    got_worse = [each.metric for each in comparisons if each.verdict == ComparisonVerdict.WORSE]
    if verdict.advice == Advice.WIDEN:
        assert not got_worse
        assert verdict.reason.verdict == ComparisonVerdict.BETTER
        assert verdict.reason.metric in DECIDING_METRICS
    assert (verdict.advice == Advice.STOP) == any(metric in got_worse for metric in DECIDING_METRICS)
    assert {each.metric.name for each in verdict.worse} == {each.name for each in got_worse} - {
        verdict.reason.metric.name
    }


@pytest.mark.parametrize(
    ("differences", "advice"),
    [
        ({"failure_rate": BETTER}, Advice.WIDEN),
        ({"failure_rate": WORSE}, Advice.STOP),
        ({}, Advice.NO_DIFFERENCE),
        ({"failure_rate": None}, Advice.WAIT),
        # Fewer failed calls, but more loops: a guard holds it back.
        ({"failure_rate": BETTER, "loop_rate": WORSE}, Advice.HOLD),
        # Fewer failed calls, but fewer turns reach their goal.
        ({"failure_rate": BETTER, "turn_success": BETTER}, Advice.STOP),
        # Too few calls to tell, but loops tell enough.
        ({"failure_rate": None, "loop_rate": WORSE}, Advice.HOLD),
        # As many failed calls, but more turns reach their goal.
        ({"turn_success": WORSE}, Advice.WIDEN),
        # Only a rate improved by which nothing is decided.
        ({"miss_rate": BETTER}, Advice.NO_DIFFERENCE),
    ],
)
def test_advice(differences: dict[str, Difference | None], advice: Advice) -> None:
    assert judge(build_comparisons(**differences)).advice == advice
