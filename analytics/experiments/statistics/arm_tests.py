"""Compare an arm with the control, and choose beforehand how."""

from dataclasses import dataclass
from enum import StrEnum
from math import ceil, isclose

from analytics.experiments.statistics.arm_moments import ArmMoments, MetricEstimate, MetricKind
from analytics.experiments.statistics.confidence_sequences import (
    compute_half_width,
    compute_one_sided_width,
    compute_p_value,
    find_one_sided_p_value,
)
from analytics.experiments.statistics.past_adjustment import adjust_by_past

MIN_SUBJECTS = 20  # of each arm; with fewer, its variance is not known well enough
SMALL_ARM_SPREAD = 0.8  # least variance of a subject, as a share of that in the other arm, if that is very much larger
MIN_TUNING, MAX_GUARDRAIL_TUNING = 400, 1_000  # subjects
_ROUNDING = 1e-9  # a difference that is a smaller share of the figures is what rounding left of zero


class ArmVerdict(StrEnum):
    """What the figures say of an arm, beside the control."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "none"  # the interval contains zero
    WAIT = "wait"  # too few subjects


@dataclass(frozen=True, slots=True)
class MetricTest:
    """How a metric is tested: chosen before the experiment begins, because the choice must not follow the figures."""

    kind: MetricKind
    lower_is_better: bool
    alpha: float = 0.05  # the share of experiments without a difference that may ever get a verdict
    tuning: float = 5_000  # subjects of both arms at which the interval is tightest (N* in the paper)
    tails: int = 2  # 1: only harm is tested


@dataclass(frozen=True, slots=True)
class ArmResult:
    """An arm beside the control. An end of the interval that is open is None, and so is all that is not known."""

    difference: float | None
    low: float | None
    high: float | None
    p: float
    verdict: ArmVerdict


def compare_arms(control: ArmMoments, arm: ArmMoments, test: MetricTest) -> ArmResult:
    """Return how an arm differs from the control: arm minus control, in the metric's own unit.

    If both have a past, the part of the difference that the past explains is taken out.
    """
    first, second = control.estimate(test.kind), arm.estimate(test.kind)
    if first is None or second is None:
        return ArmResult(None, None, None, 1.0, ArmVerdict.WAIT)
    first, second = adjust_by_past((control, arm), (first, second), test.kind)
    difference, variance = second.value - first.value, _sum_variances(first, second)
    if isclose(second.value, first.value, rel_tol=_ROUNDING):
        difference = 0.0  # else users who all fail alike would differ by the last digit, without any variance
    subjects = first.subjects + second.subjects
    counted = [each.subjects if test.kind == MetricKind.MEAN else each.counted for each in (control, arm)]
    has_too_few = min(counted) < MIN_SUBJECTS
    if has_too_few and not variance:  # that few subjects are alike does not say that all are
        return ArmResult(difference, None, None, 1.0, ArmVerdict.WAIT)
    if test.tails == 1:
        result = _test_harm(difference, variance, subjects, test)
    else:
        half = compute_half_width(variance, subjects, alpha=test.alpha, tuning=test.tuning)
        p = compute_p_value(difference, variance, subjects, alpha=test.alpha, tuning=test.tuning)
        result = ArmResult(difference, difference - half, difference + half, p, _judge(difference, half, test))
    if has_too_few:
        return ArmResult(result.difference, result.low, result.high, result.p, ArmVerdict.WAIT)
    return result


def _sum_variances(first: MetricEstimate, second: MetricEstimate) -> float:
    """Return the variance of the difference. Subjects of a much smaller arm are at least SMALL_ARM_SPREAD as varied.

    While a small arm has few failures, its own variance is too small for the same reason: at 10:90, chance alone got a
    verdict in 5 to 40% of simulated experiments. Arms of equal size are not changed, because both would be wrong alike.
    """
    small, large = sorted((first, second), key=lambda each: each.subjects)
    least = SMALL_ARM_SPREAD * (1 - small.subjects / large.subjects) * large.variance * large.subjects / small.subjects
    return max(small.variance, least) + large.variance


def choose_tuning(planned_subjects: int, *, smaller_share: float = 0.5) -> int:
    """Return the tuning of a test for the subjects of both arms that are planned, and the smaller arm's share of them.

    A smaller one, such as the subjects of one arm, spends most of alpha while few subjects are there, whose variance is
    not known well: 5 to 8% of simulated experiments without a difference got a verdict. With this one at most 5% did
    (docs/experiments.md).
    """
    return max(2 * planned_subjects, ceil(MIN_TUNING / (2 * smaller_share)))


def choose_guardrail_tuning(planned_subjects: int) -> int:
    """Return the tuning of a guardrail, which has to find harm while few subjects have seen it, however many will.

    With 1,000, a failure rate of 20% that doubles was found before 400 subjects in 96% of simulated experiments; with
    8,000, which fits 4,000 planned subjects, in half of them.
    """
    return min(choose_tuning(planned_subjects), MAX_GUARDRAIL_TUNING)


def _judge(difference: float, half: float, test: MetricTest) -> ArmVerdict:
    if abs(difference) <= half:
        return ArmVerdict.NONE
    return ArmVerdict.BETTER if (difference < 0) == test.lower_is_better else ArmVerdict.WORSE


def _test_harm(difference: float, variance: float, subjects: int, test: MetricTest) -> ArmResult:
    """Return the result of one tail: the smallest harm that the figures still allow."""
    harm = difference if test.lower_is_better else -difference
    bound = harm - compute_one_sided_width(variance, subjects, alpha=test.alpha, tuning=test.tuning)
    p = find_one_sided_p_value(harm, variance, subjects, alpha=test.alpha, tuning=test.tuning)
    verdict = ArmVerdict.WORSE if bound > 0 else ArmVerdict.NONE
    if test.lower_is_better:
        return ArmResult(difference, bound, None, p, verdict)
    return ArmResult(difference, None, -bound, p, verdict)
