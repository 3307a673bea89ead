"""Compare two arms of an experiment so that the answer is valid at every look, however often somebody looks.

The unit is the subject, because subjects are assigned: the calls of one subject are alike, so that counting calls would
claim more than is known. Intervals are asymptotic confidence sequences: I. Waudby-Smith, D. Arbour, R. Sinha, E. H.
Kennedy, A. Ramdas, "Time-uniform central limit theory and asymptotic confidence sequences", arXiv 2103.06476, where
equation numbers are of version 7, but for the one-sided bound (134 of version 9). Ratios (failed calls ÷ calls) are
linearised: A. Deng, U. Knoblich, J. Lu, "Applying the delta method in metric analytics", arXiv 1803.06336.

What subjects did before their first exposure explains a part of what they do in the experiment. That part is taken out
(CUPED): A. Deng, Y. Xu, R. Kohavi, T. Walker, "Improving the sensitivity of online controlled experiments by utilizing
pre-experiment data", WSDM 2013, https://doi.org/10.1145/2433396.2433413.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations_with_replacement
from math import ceil, exp, inf, isclose, lgamma, log, log1p, sqrt

MIN_SUBJECTS = 20  # of each arm; with fewer, its variance is not known well enough
MIN_PAST_SUBJECTS = 100  # with a past, of each arm; with fewer, a few heavy users decide how much the past explains
SMALL_ARM_SPREAD = 0.8  # least variance of a subject, as a share of that in the other arm, if that is very much larger
MIN_TUNING, MAX_GUARDRAIL_TUNING = 400, 1_000  # subjects
CONCENTRATION = 100  # of the prior on the observed split: as if 100 subjects had been assigned as planned

# The search for the p-value of one tail ends as that of GrowthBook's gbstats, so that both give the same figures.
_P_MIN, _P_MAX = 1e-5, 0.4999
_P_TOLERANCE = 1e-6  # of the bound

_SUMS_WITHOUT_PAST = 5
_ROUNDING = 1e-9  # a variance that is a smaller share of its terms is what rounding left of zero


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
    first, second = _adjust_by_past((control, arm), (first, second), test.kind)
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


def _adjust_by_past(
    arms: tuple[ArmMoments, ArmMoments], estimates: tuple[MetricEstimate, MetricEstimate], kind: MetricKind
) -> tuple[MetricEstimate, MetricEstimate]:
    """Return the estimates, each minus θ times its arm's mean of the linearised past, with θ the slope within the arms.

    These means differ by chance only, because nobody had been assigned yet, so that the difference stays unbiased. The
    estimates are unchanged if an arm has fewer than MIN_PAST_SUBJECTS with a past, or if all pasts are equal.

    GrowthBook's gbstats (RegressionAdjustedRatioStatistic) linearises the past of each arm around its own ratio. Around
    the ratio of both, an arm without calls before needs no exception. Where both ratios are equal, so are the results.
    """
    pasts = _linearise_pasts(arms, estimates, kind)
    squares = sum(past.subjects * past.variance for past in pasts)
    if not squares:
        return estimates
    theta = sum(past.subjects * past.covariance for past in pasts) / squares
    first, second = (past.adjust(estimate, theta) for past, estimate in zip(pasts, estimates, strict=True))
    return first, second


def _linearise_pasts(
    arms: Sequence[ArmMoments], estimates: Sequence[MetricEstimate], kind: MetricKind
) -> list["_LinearisedPast"]:
    """Return the past of each arm as one figure a subject; none if an arm has too few subjects with a past."""
    pairs = [(arm, arm.past) for arm in arms if arm.past is not None and arm.past.subjects >= MIN_PAST_SUBJECTS]
    if len(pairs) < len(arms):
        return []
    before = sum(arm.subjects * past.denominator for arm, past in pairs)
    ratio = sum(arm.subjects * past.numerator for arm, past in pairs) / before if before else 0.0
    return [
        _LinearisedPast.of_arm(arm, past, ratio, None if kind == MetricKind.MEAN else estimate.value)
        for (arm, past), estimate in zip(pairs, estimates, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class _LinearisedPast:
    """The past of an arm's subjects as one figure x each: the numerator minus the ratio of both arms × the denominator.

    A subject without a past has 0, which is the mean of all.
    """

    subjects: int
    divisor: int  # of the variance of the metric
    mean: float
    variance: float
    covariance: float  # with the metric of a subject, which a ratio has linearised

    @classmethod
    def of_arm(cls, arm: ArmMoments, past: PastMoments, before: float, now: float | None) -> "_LinearisedPast":
        """Return the past of an arm; `before` and `now` are the ratios to linearise around, None of a mean."""
        squares = past.numerator_variance + before * before * past.denominator_variance
        variance = squares - 2 * before * past.covariance
        covariance = past.numerator_with_numerator - before * past.numerator_with_denominator
        if now is not None:
            denominators = past.denominator_with_numerator - before * past.denominator_with_denominator
            covariance = (covariance - now * denominators) / arm.denominator
        return cls(
            arm.subjects,
            arm.subjects - (now is None),
            past.numerator - before * past.denominator,
            variance if variance > _ROUNDING * (squares + past.numerator**2) else 0.0,
            covariance,
        )

    def adjust(self, estimate: MetricEstimate, theta: float) -> MetricEstimate:
        """Return the estimate without what the past explains."""
        explained = theta * (2 * self.covariance - theta * self.variance) / self.divisor
        return MetricEstimate(
            estimate.subjects, estimate.value - theta * self.mean, max(0.0, estimate.variance - explained)
        )


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
