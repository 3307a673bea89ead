"""What the figures of two sides say together: widen the second one, stop it, hold it, or wait for more data.

A verdict claims a difference only if the interval of the difference does not contain zero. It never says to widen if
any rate got worse, whatever else improved.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from analytics.experiments.cohorts.comparison import SUCCESS_RATE, ComparisonVerdict, MetricComparison
from analytics.experiments.metrics import FAILURE_RATE, Metric

# The rates that a rollout is decided by, the most important first. All others only hold it back.
DECIDING_METRICS: tuple[Metric, ...] = (FAILURE_RATE, SUCCESS_RATE)


class Advice(StrEnum):
    """What to do with the second side."""

    WIDEN = "widen"  # a deciding rate got better, and nothing got worse
    STOP = "stop"  # a deciding rate got worse
    HOLD = "hold"  # only another rate got worse
    NO_DIFFERENCE = "no_difference"
    WAIT = "wait"  # too few users


@dataclass(frozen=True, slots=True)
class Verdict:
    """Advice, and the comparisons that lead to it."""

    advice: Advice
    reason: MetricComparison
    worse: tuple[MetricComparison, ...] = ()  # rates besides the reason that got worse
    better: tuple[MetricComparison, ...] = ()  # rates besides the reason that got better


def judge(comparisons: Sequence[MetricComparison]) -> Verdict:
    """Return the verdict on the second side of a comparison of all metrics."""
    deciding = [each for metric in DECIDING_METRICS for each in comparisons if each.metric == metric]
    worse = [each for each in comparisons if each.verdict == ComparisonVerdict.WORSE]
    better = [each for each in comparisons if each.verdict == ComparisonVerdict.BETTER]
    if reasons := [each for each in deciding if each in worse]:
        advice = Advice.STOP
    elif reasons := worse:
        advice = Advice.HOLD
    elif deciding[0].verdict == ComparisonVerdict.TOO_FEW:
        advice, reasons = Advice.WAIT, deciding
    elif reasons := [each for each in deciding if each in better]:
        advice = Advice.WIDEN
    else:
        advice, reasons = Advice.NO_DIFFERENCE, deciding
    reason = reasons[0]
    return Verdict(
        advice,
        reason,
        tuple(each for each in worse if each != reason),
        tuple(each for each in better if each != reason),
    )
