"""The verdicts of the product at every look of many runs, with numpy.

The formulas of statistics.py for arrays, because to call it at 1,440 looks of 2,000 runs would take hours. Widths come
from it. check_against_product compares the results of a sample of looks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.experiments import statistics
from analytics.experiments.statistics import (
    MIN_PAST_SUBJECTS,
    MIN_SUBJECTS,
    SMALL_ARM_SPREAD,
    ArmMoments,
    ArmVerdict,
    MetricKind,
    MetricTest,
)
from benchmarks.experiments.traffic import ArmSums, Floats

ALPHA = 0.05
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of the arms at each look, with the shape (runs, looks)."""

    subjects: NDArray[np.int64]  # of both arms
    difference: Floats
    variance: Floats
    is_ready: NDArray[np.bool_]  # whether both arms have the minimum of subjects


class AnyLookTest:
    """A test of failure rates with its tuning: whether there is a verdict."""

    def __init__(self, *, tuning: int, tails: int, subjects: int) -> None:
        """Compute the widths for a variance of 1 and for each number of subjects of both arms."""
        self.test = MetricTest(MetricKind.RATIO, lower_is_better=True, alpha=ALPHA, tuning=tuning, tails=tails)
        compute = statistics.compute_half_width if tails == 2 else statistics.compute_one_sided_width
        widths = [compute(1, n, alpha=ALPHA, tuning=tuning) for n in range(1, subjects + 1)]
        self._widths = np.array([np.inf, *widths])

    def find_verdicts(self, comparison: Comparison) -> NDArray[np.bool_]:
        """Return whether each look gives a verdict: of one tail only harm."""
        excess = comparison.difference if self.test.tails == 1 else np.abs(comparison.difference)
        width = self._widths[comparison.subjects] * np.sqrt(comparison.variance)
        return comparison.is_ready & (excess > width)

    def check_against_product(self, comparison: Comparison, run: int, look: int, moments: list[ArmMoments]) -> None:
        """Raise AssertionError if the product judges the arms at a look in another way."""
        result = statistics.compare_arms(moments[0], moments[1], self.test)
        verdict = bool(self.find_verdicts(comparison)[run, look])
        assert (result.verdict in {ArmVerdict.BETTER, ArmVerdict.WORSE}) == verdict, (result, run, look)
        if result.low is None or not comparison.is_ready[run, look]:
            return
        width = self._widths[comparison.subjects[run, look]] * np.sqrt(comparison.variance[run, look])
        low = comparison.difference[run, look] - width
        assert abs(result.low - low) <= _TOLERANCE, (result, low, run, look)


def compare_at_looks(sums: ArmSums) -> Comparison:
    """Return how the second arm differs from the first: failed calls ÷ calls, adjusted if users have a past."""
    subjects = sums["n"]
    with np.errstate(divide="ignore", invalid="ignore"):  # before the first call of an arm
        rates = sums["a"] / sums["b"]
        spread = sums["aa"] - 2 * rates * sums["ab"] + rates * rates * sums["bb"]
        variances = np.maximum(0, spread) / sums["b"] ** 2
        if "past" in sums:
            rates, variances = _adjust_by_past(sums, rates, variances)
    return Comparison(
        subjects.sum(axis=1).astype(np.int64),
        rates[:, 1] - rates[:, 0],
        _sum_variances(subjects, variances),
        subjects.min(axis=1) >= MIN_SUBJECTS,
    )


def _sum_variances(subjects: Floats, variances: Floats) -> Floats:
    others = subjects[:, ::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        least = SMALL_ARM_SPREAD * (1 - subjects / others) * variances[:, ::-1] * others / subjects
        summed: Floats = np.where(subjects < others, np.maximum(variances, least), variances).sum(axis=1)
    return summed


def _adjust_by_past(sums: ArmSums, rates: Floats, variances: Floats) -> tuple[Floats, Floats]:
    n = sums["n"]
    before = (sums["c"].sum(axis=1) / sums["d"].sum(axis=1))[:, None]

    def covary(left: str, right: str) -> Floats:
        return sums[left + right] - sums[left] * sums[right] / n

    squares = covary("c", "c") - 2 * before * covary("c", "d") + before**2 * covary("d", "d")
    products = covary("a", "c") - before * covary("a", "d") - rates * (covary("b", "c") - before * covary("b", "d"))
    products *= n / sums["b"]
    has_past = (sums["past"].min(axis=1) >= MIN_PAST_SUBJECTS) & (squares.sum(axis=1) > 0)
    slope = np.where(has_past, products.sum(axis=1) / squares.sum(axis=1), 0)[:, None]
    means = (sums["c"] - before * sums["d"]) / n
    explained = slope * (2 * products - slope * squares) / n**2
    adjusted = np.where(has_past[:, None], rates - slope * means, rates)
    return adjusted, np.where(has_past[:, None], np.maximum(0, variances - explained), variances)
