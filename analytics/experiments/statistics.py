"""Compare two arms of an experiment so that the answer is valid at every look, however often somebody looks.

The unit is the subject, because subjects are assigned: the calls of one subject are alike, so that counting calls would
claim more than is known. Intervals are asymptotic confidence sequences: I. Waudby-Smith, D. Arbour, R. Sinha, E. H.
Kennedy, A. Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", arXiv 2103.06476, where
equation numbers are of version 7, but for the one-sided bound (134 of version 9). Ratios (failed calls ÷ calls) are
linearised: A. Deng, U. Knoblich, J. Lu, "Applying the delta method in metric analytics", arXiv 1803.06336.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, lgamma, log, log1p, sqrt

MIN_SUBJECTS = 20  # of each arm; with fewer, its variance is not known well enough
CONCENTRATION = 100  # of the prior on the observed split: as if 100 subjects had been assigned as planned

# The search for the p-value of one tail ends as that of GrowthBook's gbstats, so that both give the same figures.
_P_MIN, _P_MAX = 1e-5, 0.4999
_P_TOLERANCE = 1e-6  # of the bound


class MetricKind(StrEnum):
    """What a metric is of a subject's two sums."""

    RATIO = "ratio"  # all numerators ÷ all denominators: failed calls ÷ calls
    MEAN = "mean"  # the numerator, as a mean of the subjects


class ArmVerdict(StrEnum):
    """What the figures say of an arm, beside the control."""

    BETTER = "better"
    WORSE = "worse"
    NONE = "none"  # the interval contains zero
    WAIT = "wait"  # too few subjects


@dataclass(frozen=True, slots=True)
class ArmMoments:
    """How the two sums of an arm's subjects are distributed: means, and variances that divide by the subjects."""

    subjects: int
    numerator: float
    denominator: float
    numerator_variance: float
    denominator_variance: float
    covariance: float

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
        )

    @classmethod
    def of_sums(cls, subjects: int, sums: Sequence[float]) -> "ArmMoments":
        """Return the moments of what a database summed over the subjects: Σa, Σb, Σaa, Σab, Σbb."""
        if not subjects:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        a, b, aa, ab, bb = (each / subjects for each in sums)
        return cls(subjects, a, b, max(0.0, aa - a * a), max(0.0, bb - b * b), ab - a * b)

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


@dataclass(frozen=True, slots=True)
class MetricEstimate:
    """A metric of an arm, and the variance of that figure (not of a subject)."""

    subjects: int
    value: float
    variance: float


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
    """Return how an arm differs from the control: arm minus control, in the metric's own unit."""
    first, second = control.estimate(test.kind), arm.estimate(test.kind)
    if first is None or second is None:
        return ArmResult(None, None, None, 1.0, ArmVerdict.WAIT)
    difference, variance = second.value - first.value, first.variance + second.variance
    subjects = first.subjects + second.subjects
    if test.tails == 1:
        result = _test_harm(difference, variance, subjects, test)
    else:
        half = compute_half_width(variance, subjects, alpha=test.alpha, tuning=test.tuning)
        p = compute_p_value(difference, variance, subjects, alpha=test.alpha, tuning=test.tuning)
        result = ArmResult(difference, difference - half, difference + half, p, _judge(difference, half, test))
    if min(first.subjects, second.subjects) < MIN_SUBJECTS:
        return ArmResult(result.difference, result.low, result.high, result.p, ArmVerdict.WAIT)
    return result


def _judge(difference: float, half: float, test: MetricTest) -> ArmVerdict:
    if abs(difference) <= half:
        return ArmVerdict.NONE
    return ArmVerdict.BETTER if (difference < 0) == test.lower_is_better else ArmVerdict.WORSE


def _test_harm(difference: float, variance: float, subjects: int, test: MetricTest) -> ArmResult:
    """Return the result of one tail: the smallest harm that the figures still allow."""
    harm = difference if test.lower_is_better else -difference
    bound = harm - compute_one_sided_width(variance, subjects, alpha=test.alpha, tuning=test.tuning)
    p = _find_one_sided_p_value(harm, variance, subjects, test)
    verdict = ArmVerdict.WORSE if bound > 0 else ArmVerdict.NONE
    if test.lower_is_better:
        return ArmResult(difference, bound, None, p, verdict)
    return ArmResult(difference, None, -bound, p, verdict)


def compute_half_width(variance: float, subjects: int, *, alpha: float, tuning: float) -> float:
    """Return half the width of the two-sided interval (equation 9). `variance` is that of the difference."""
    scale = subjects * _compute_rho_squared(alpha, tuning)
    return sqrt(2 * variance * (scale + 1) / scale * log(sqrt(scale + 1) / alpha))


def compute_one_sided_width(variance: float, subjects: int, *, alpha: float, tuning: float) -> float:
    """Return the distance of the one-sided bound (equation 134). It is tuned as two tails of `alpha` each."""
    return _compute_width_at(alpha, variance, subjects * _compute_rho_squared(2 * alpha, tuning))


def _compute_width_at(alpha: float, variance: float, scale: float) -> float:
    return sqrt(2 * variance * (scale + 1) / scale * log1p(sqrt(scale + 1) / (2 * alpha)))


def compute_p_value(difference: float, variance: float, subjects: int, *, alpha: float, tuning: float) -> float:
    """Return the p-value of two tails (equation 155): the smallest alpha whose interval would leave zero out."""
    if not difference:
        return 1.0
    if not variance:
        return 0.0
    scale = subjects * _compute_rho_squared(alpha, tuning)
    return min(1.0, exp(log1p(scale) / 2 - scale / (scale + 1) * difference**2 / variance / 2))


def _find_one_sided_p_value(harm: float, variance: float, subjects: int, test: MetricTest) -> float:
    if harm <= 0:
        return 1.0
    if not variance:
        return 0.0
    scale = subjects * _compute_rho_squared(2 * test.alpha, test.tuning)
    low, high = _P_MIN, _P_MAX
    if harm <= _compute_width_at(high, variance, scale):
        return 1.0
    if harm >= _compute_width_at(low, variance, scale):
        return low
    distance = inf
    while abs(distance) > _P_TOLERANCE:
        p = (low + high) / 2
        distance = harm - _compute_width_at(p, variance, scale)
        low, high = (low, p) if distance > 0 else (p, high)
    return (low + high) / 2


def _compute_rho_squared(alpha: float, tuning: float) -> float:
    """Return ρ², with which the interval is tightest at `tuning` subjects (equation 161)."""
    tails = -2 * log(alpha)
    return (tails + log1p(tails)) / tuning


def compute_sample_ratio_p_value(counts: Sequence[int], weights: Sequence[float]) -> float:
    """Return the p-value of the subjects by arm against the planned weights, valid at every look.

    It is one over the Bayes factor of a Dirichlet prior around the weights against the weights: M. Lindon, A. Malek,
    "Anytime-valid inference for multinomial count data", arXiv 2011.03567. A small one means that assignment or
    recording is broken, so that no other figure can be believed.
    """
    total, whole = sum(counts), sum(weights)
    shares = [weight / whole for weight in weights]
    factor = lgamma(CONCENTRATION) - lgamma(CONCENTRATION + total)
    for count, share in zip(counts, shares, strict=True):
        prior = CONCENTRATION * share
        factor += lgamma(prior + count) - lgamma(prior) - count * log(share)
    return min(1.0, exp(-factor))


def adjust_p_values(p_values: Iterable[float]) -> list[float]:
    """Return p-values that can be compared with one rate of false discoveries, in the same order.

    Y. Benjamini, Y. Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289–300.
    """
    values = list(p_values)
    adjusted, smallest = [1.0] * len(values), 1.0
    largest_first = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    for rank, at in zip(range(len(values), 0, -1), largest_first, strict=True):
        smallest = min(smallest, values[at] * len(values) / rank)
        adjusted[at] = smallest
    return adjusted
