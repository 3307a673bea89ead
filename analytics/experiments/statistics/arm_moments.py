"""How the sums of an arm's subjects are distributed, and what a metric of them is.

Ratios (failed calls ÷ calls) are linearised: A. Deng, U. Knoblich, J. Lu, "Applying the delta method in metric
analytics", arXiv 1803.06336.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations_with_replacement

_SUMS_WITHOUT_PAST = 5


class MetricKind(StrEnum):
    """What a metric is of a subject's two sums."""

    RATIO = "ratio"  # all numerators ÷ all denominators: failed calls ÷ calls
    MEAN = "mean"  # the numerator, as a mean of the subjects


@dataclass(frozen=True, slots=True)
class PastMoments:
    """How the same two sums were distributed before each subject's first exposure, over all subjects of the arm.

    A subject without a past has the sums 0 and 0. The denominator of a mean is 1 for each subject with a past. The last
    four are covariances of a sum in the experiment, named first, with one before it.
    """

    subjects: int  # with a past
    numerator: float
    denominator: float
    numerator_variance: float
    denominator_variance: float
    covariance: float
    numerator_with_numerator: float
    numerator_with_denominator: float
    denominator_with_numerator: float
    denominator_with_denominator: float


@dataclass(frozen=True, slots=True)
class ArmMoments:
    """How the two sums of an arm's subjects are distributed: means, and variances that divide by the subjects."""

    subjects: int
    numerator: float
    denominator: float
    numerator_variance: float
    denominator_variance: float
    covariance: float
    past: PastMoments | None = None
    with_denominator: int | None = None  # subjects: those without one tell nothing of a ratio. None: all have one

    @classmethod
    def of_pairs(cls, pairs: Sequence[Sequence[float]]) -> "ArmMoments":
        """Return the moments of one [numerator, denominator] a subject."""
        n = len(pairs)
        if not n:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        numerator, denominator = (sum(pair[side] for pair in pairs) / n for side in (0, 1))
        offsets = [(pair[0] - numerator, pair[1] - denominator) for pair in pairs]
        return cls(
            n,
            numerator,
            denominator,
            sum(a * a for a, _ in offsets) / n,
            sum(b * b for _, b in offsets) / n,
            sum(a * b for a, b in offsets) / n,
            with_denominator=sum(bool(pair[1]) for pair in pairs),
        )

    @classmethod
    def of_sums(
        cls, subjects: int, sums: Sequence[float], *, counted: int | None = None, with_past: int = 0
    ) -> "ArmMoments":
        """Return the moments of what a database summed over the subjects: Σa, Σb, Σaa, Σab, Σbb.

        a and b are a subject's numerator and denominator. For a past, c and d are the same before its first exposure, 0
        without one; `with_past` counts the subjects that have one; the sums are those of a, b, c and d, then of their
        products in the order aa, ab, ac, ad, bb, bc, bd, cc, cd, dd. Sums of whole numbers are used exactly, so that no
        digit is lost if a mean is much larger than its deviation.
        """
        if not subjects:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        names = "abcd" if len(sums) > _SUMS_WITHOUT_PAST else "ab"
        products = map("".join, combinations_with_replacement(names, 2))
        totals: dict[str, float] = dict(zip([*names, *products], map(_keep_exact, sums), strict=True))

        def covary(left: str, right: str) -> float:
            return (subjects * totals[left + right] - totals[left] * totals[right]) / (subjects * subjects)

        a, b = totals["a"] / subjects, totals["b"] / subjects
        now = subjects, a, b, max(0.0, covary("a", "a")), max(0.0, covary("b", "b")), covary("a", "b")
        if not with_past:
            return cls(*now, with_denominator=counted)
        before = totals["c"] / subjects, totals["d"] / subjects, covary("c", "c"), covary("d", "d"), covary("c", "d")
        across = covary("a", "c"), covary("a", "d"), covary("b", "c"), covary("b", "d")
        return cls(*now, PastMoments(with_past, *before, *across), with_denominator=counted)

    @property
    def counted(self) -> int:
        """The subjects with a denominator, such as those who made a call."""
        return self.subjects if self.with_denominator is None else self.with_denominator

    @property
    def amount(self) -> float:
        """The sum of all denominators, such as the calls of the arm."""
        return self.denominator * self.subjects

    def estimate(self, kind: MetricKind) -> "MetricEstimate | None":
        """Return the metric of this arm; None if nothing can be divided by."""
        if kind == MetricKind.MEAN:
            if self.subjects < 2:
                return None
            return MetricEstimate(self.subjects, self.numerator, self.numerator_variance / (self.subjects - 1))
        if not self.denominator:
            return None
        ratio = self.numerator / self.denominator
        spread = self.numerator_variance - 2 * ratio * self.covariance + ratio * ratio * self.denominator_variance
        return MetricEstimate(self.subjects, ratio, max(0.0, spread) / (self.denominator**2 * self.subjects))


def _keep_exact(total: float) -> float:
    """Return a whole number as an int: databases return floats or decimals."""
    return int(total) if total == int(total) else float(total)


def winsorise(pair: Sequence[float], limit: float) -> tuple[float, float]:
    """Return the sums of a subject as if it had made at most `limit` calls, with the same share of hits.

    A few subjects who call thousands of times would otherwise decide a ratio. Choose the limit before the experiment,
    from earlier weeks, and use it for the past as well. The same in SQL:
    `CASE WHEN b > :limit THEN a * :limit * 1.0 / b ELSE a END` and `CASE WHEN b > :limit THEN :limit ELSE b END`.
    """
    numerator, denominator = pair
    if denominator <= limit:
        return numerator, denominator
    return numerator * limit / denominator, limit


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """A metric of an arm, and the variance of that figure (not of a subject)."""

    subjects: int
    value: float
    variance: float
