"""What the figures of two sides say together: widen the second one, stop it, hold it, or wait for more data.

A verdict claims a difference only if the interval of the difference does not contain zero. It never says to widen if
any rate got worse, whatever else improved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from analytics.reports.comparison import (
    FAILURE_RATE,
    SUCCESS_RATE,
    ComparisonVerdict,
    Metric,
    MetricComparison,
    Proportion,
    compare_rates,
)
from analytics.reports.op_figures import OpFigures

# The rates that a rollout is decided by, the most important first. All others only hold it back.
DECIDING_METRICS: tuple[Metric, ...] = (FAILURE_RATE, SUCCESS_RATE)


class Advice(StrEnum):
    """What to do with the second side."""

    WIDEN = "widen"  # a deciding rate got better, and nothing got worse
    STOP = "stop"  # a deciding rate got worse
    HOLD = "hold"  # only another rate got worse
    NO_DIFFERENCE = "no_difference"
    WAIT = "wait"  # too few samples


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


@dataclass(frozen=True, slots=True)
class WorstOp:
    """The op that fails more often than all others together, beyond chance, and has the most failed calls of those."""

    op: str
    own: Proportion
    others: Proportion


def find_worst_op(figures_by_op: Mapping[str, OpFigures]) -> WorstOp | None:
    """Return the op to start with; None if no op clearly fails more often than the others. "" is not an op."""
    calls, failed = (sum(getattr(each, name) for each in figures_by_op.values()) for name in ("calls", "failed"))
    worst = sorted((op for op in figures_by_op if op), key=lambda op: (-figures_by_op[op].failed, op))
    for op in worst:
        own = Proportion(figures_by_op[op].failed, figures_by_op[op].calls)
        others = Proportion(failed - own.hits, calls - own.total)
        interval = compare_rates(others, own)
        if interval and interval.low > 0:
            return WorstOp(op, own, others)
    return None
