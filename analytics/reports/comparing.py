"""Compare two cohorts or two releases: each rate, the difference, and whether it is statistically significant."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from math import ceil

from analytics.reports import totals
from analytics.reports.intervals import Interval, newcombe
from analytics.reports.scope import Scope
from analytics.reports.totals import Totals

LEAST = 50  # minimum sample size on each side; with fewer, the interval is too wide to be useful


class Verdict(StrEnum):
    """The result of comparing two rates."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "none"  # not significant
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True)
class Metric:
    """A rate to compare. `count` returns its hits and its total."""

    name: str
    of: str  # what the rate is of, in words: calls, turns
    count: Callable[[Totals], tuple[int, int]]
    is_better_low: bool


METRICS = (
    Metric("Failure rate", "calls", lambda each: (each.failed, each.calls), True),
    Metric("Repair rate", "failed calls", lambda each: (each.mended, each.failed), False),
    Metric("Turns with a successful call", "turns with a call", lambda each: (each.succeeding, each.calling), False),
    Metric("Turns with an unknown name", "turns", lambda each: (each.lost, each.turns), True),
    Metric("Turns with a loop", "turns", lambda each: (each.looping, each.turns), True),
    Metric("Searches that found nothing", "searches", lambda each: (each.misses, each.searches), True),
)


@dataclass(frozen=True, slots=True)
class Share:
    """A number of hits out of a total."""

    hits: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class Compared:
    """A metric on both sides, and the 95% confidence interval of the difference (second minus first)."""

    metric: Metric
    first: Share
    second: Share
    interval: Interval | None  # None if the sample is too small
    verdict: Verdict
    days_to_wait: int | None  # until the sample may be large enough; None if it is, or if there is no data

    @property
    def difference(self) -> float | None:
        """The second rate minus the first."""
        if self.first.rate is None or self.second.rate is None:
            return None
        return self.second.rate - self.first.rate


@dataclass(frozen=True, slots=True)
class Moved:
    """An op whose failure rate differs significantly between the two sides."""

    op: str
    first: Share
    second: Share
    interval: Interval

    @property
    def difference(self) -> float:
        """The second rate minus the first."""
        return self.second.hits / self.second.of - self.first.hits / self.first.of


def compared(first: Totals, second: Totals, *, days: int) -> list[Compared]:
    """Return the comparison of every metric. `days` is the length of the period."""
    return [_compared(metric, Share(*metric.count(first)), Share(*metric.count(second)), days) for metric in METRICS]


def moved(scope: Scope, by: str, first: str, second: str, *, limit: int = 10) -> list[Moved]:
    """Return the ops whose failure rate differs significantly, largest difference first."""
    sides = [totals.each_op(scope.under(by, name)) for name in (first, second)]
    shares = [{op: Share(each.failed, each.calls) for op, each in side.items() if op} for side in sides]
    found = [
        Moved(op, a, b, newcombe(a.hits, a.of, b.hits, b.of))
        for op, a in shares[0].items()
        if (b := shares[1].get(op)) and min(a.of, b.of) >= LEAST
    ]
    surely = [each for each in found if not each.interval.low <= 0 <= each.interval.high]
    return sorted(surely, key=lambda each: -abs(each.difference))[:limit]


def _compared(metric: Metric, first: Share, second: Share, days: int) -> Compared:
    if min(first.of, second.of) < LEAST:
        return Compared(metric, first, second, None, Verdict.TOO_FEW, _days_to_wait(first, second, days))
    interval = newcombe(first.hits, first.of, second.hits, second.of)
    if interval.low <= 0 <= interval.high:
        verdict = Verdict.NONE
    else:
        verdict = Verdict.BETTER if (interval.high < 0) == metric.is_better_low else Verdict.WORSE
    return Compared(metric, first, second, interval, verdict, None)


def _days_to_wait(first: Share, second: Share, days: int) -> int | None:
    fewest = min(first.of, second.of)
    return ceil((LEAST - fewest) * days / fewest) if fewest else None
