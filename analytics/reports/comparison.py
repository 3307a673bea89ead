"""Compare the failures of two groups of calls, with Newcombe's confidence intervals.

E. B. Wilson, JASA 22 (1927) 209–212; R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10. Unlike the
normal approximation, they stay within the possible range, and are valid for small samples and for rates of 0 or 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, sqrt
from typing import NamedTuple

from analytics.reports import totals
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.reports.totals import Totals

Z = 1.959964  # standard deviations that contain 95% of a normal distribution
SIDE_KINDS = ("cohort", "release")  # what can be compared
MIN_SAMPLE = 50  # minimum sample size on each side; with fewer, the interval is too wide to be useful


class ConfidenceInterval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def compute_wilson_interval(hits: int, total: int, *, z: float = Z) -> ConfidenceInterval:
    """Return the interval of a rate of `hits` out of `total`, which must be at least 1."""
    rate, square = hits / total, z * z
    middle = (rate + square / (2 * total)) / (1 + square / total)
    half = z / (1 + square / total) * sqrt(rate * (1 - rate) / total + square / (4 * total * total))
    # If there are no hits, or only hits, that end is exact; the formula would add a float rounding error.
    return ConfidenceInterval(
        0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == total else min(1.0, middle + half)
    )


def compute_newcombe_interval(
    hits: int, total: int, other_hits: int, other_total: int, *, z: float = Z
) -> ConfidenceInterval:
    """Return the interval of the difference of two rates, the second minus the first."""
    first, second = hits / total, other_hits / other_total
    a, b = compute_wilson_interval(hits, total, z=z), compute_wilson_interval(other_hits, other_total, z=z)
    difference = second - first
    return ConfidenceInterval(
        difference - sqrt((second - b.low) ** 2 + (a.high - first) ** 2),
        difference + sqrt((b.high - second) ** 2 + (first - a.low) ** 2),
    )


class ComparisonVerdict(StrEnum):
    """The result of comparing two rates."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "none"  # not significant
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True)
class Metric:
    """A rate to compare. `count` returns its hits and its total."""

    name: str
    denominator: str  # what the rate is of, in words: calls, turns
    count: Callable[[Totals], tuple[int, int]]
    is_lower_better: bool


FAILURE_RATE = Metric("Failure rate", "calls", lambda each: (each.failed, each.calls), True)

SUCCESS_RATE = Metric(
    "Turns with a successful call", "turns with a call", lambda each: (each.succeeding, each.calling), False
)

METRICS = (
    FAILURE_RATE,
    Metric("Repair rate", "failed calls", lambda each: (each.repaired, each.failed), False),
    SUCCESS_RATE,
    Metric("Thumbs up", "rated turns", lambda each: (each.thumbs_up, each.rated), False),
    Metric("Turns with an unknown name", "turns", lambda each: (each.lost, each.turns), True),
    Metric("Turns with a loop", "turns", lambda each: (each.looping, each.turns), True),
    Metric("Searches that found nothing", "searches", lambda each: (each.misses, each.searches), True),
)


@dataclass(frozen=True, slots=True)
class Proportion:
    """A number of hits out of a total."""

    hits: int
    total: int

    @property
    def rate(self) -> float | None:
        return self.hits / self.total if self.total else None


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """A metric on both sides, and the 95% confidence interval of the difference (second minus first)."""

    metric: Metric
    first: Proportion
    second: Proportion
    interval: ConfidenceInterval | None  # None if the sample is too small
    verdict: ComparisonVerdict
    days_to_wait: int | None  # until the sample may be large enough; None if it is, or if there is no data

    @property
    def difference(self) -> float | None:
        """The second rate minus the first."""
        if self.first.rate is None or self.second.rate is None:
            return None
        return self.second.rate - self.first.rate


@dataclass(frozen=True, slots=True)
class OpChange:
    """An op whose failure rate differs significantly between the two sides."""

    op: str
    first: Proportion
    second: Proportion
    interval: ConfidenceInterval

    @property
    def difference(self) -> float:
        """The second rate minus the first."""
        return self.second.hits / self.second.total - self.first.hits / self.first.total


def choose_sides(
    totals_by_side: Mapping[str, Totals], by: str, *, first: str = "", second: str = "", live: str = ""
) -> tuple[str, str] | None:
    """Return the two requested sides, with data or not, else the two with most calls, the default side first.

    The default side is that of no cohort or of the other release than the live one. Unknown releases are no side.
    """
    if first and second and first != second:
        return first, second
    candidates = sorted(filter(None, totals_by_side), key=lambda name: -totals_by_side[name].calls)[:2]
    if len(candidates) < 2:
        return None
    candidates.sort(key=lambda name: name != NO_COHORT if by == "cohort" else name == live)
    return candidates[0], candidates[1]


def compare_metrics(first: Totals, second: Totals, *, days: int) -> list[MetricComparison]:
    """Return the comparison of every metric. `days` is the length of the period."""
    return [
        _compare_metric(metric, Proportion(*metric.count(first)), Proportion(*metric.count(second)), days)
        for metric in METRICS
    ]


def find_changed_ops(
    report_filter: ReportFilter, by: str, first: str, second: str, *, limit: int = 10
) -> list[OpChange]:
    """Return the ops whose failure rate differs significantly, largest difference first."""
    sides = [totals.sum_by_op(report_filter.narrow(by, name)) for name in (first, second)]
    shares = [{op: Proportion(each.failed, each.calls) for op, each in side.items() if op} for side in sides]
    changes = [
        OpChange(op, a, b, compute_newcombe_interval(a.hits, a.total, b.hits, b.total))
        for op, a in shares[0].items()
        if (b := shares[1].get(op)) and min(a.total, b.total) >= MIN_SAMPLE
    ]
    significant = [each for each in changes if not each.interval.low <= 0 <= each.interval.high]
    return sorted(significant, key=lambda each: -abs(each.difference))[:limit]


def compare_rates(first: Proportion, second: Proportion) -> ConfidenceInterval | None:
    """Return the interval of the second rate minus the first; None if a sample is too small."""
    if min(first.total, second.total) < MIN_SAMPLE:
        return None
    return compute_newcombe_interval(first.hits, first.total, second.hits, second.total)


def _compare_metric(metric: Metric, first: Proportion, second: Proportion, days: int) -> MetricComparison:
    interval = compare_rates(first, second)
    if interval is None:
        return MetricComparison(
            metric, first, second, None, ComparisonVerdict.TOO_FEW, _estimate_days_to_wait(first, second, days)
        )
    if interval.low <= 0 <= interval.high:
        verdict = ComparisonVerdict.NONE
    else:
        verdict = ComparisonVerdict.BETTER if (interval.high < 0) == metric.is_lower_better else ComparisonVerdict.WORSE
    return MetricComparison(metric, first, second, interval, verdict, None)


def _estimate_days_to_wait(first: Proportion, second: Proportion, days: int) -> int | None:
    fewest = min(first.total, second.total)
    return ceil((MIN_SAMPLE - fewest) * days / fewest) if fewest else None
