"""Take out what the past of subjects explains: what they did before their first exposure (CUPED).

A. Deng, Y. Xu, R. Kohavi, T. Walker, "Improving the sensitivity of online controlled experiments by utilizing
pre-experiment data", WSDM 2013, https://doi.org/10.1145/2433396.2433413.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analytics.experiments.statistics.arm_moments import ArmMoments, MetricEstimate, MetricKind, PastMoments

MIN_PAST_SUBJECTS = 100  # with a past, of each arm; with fewer, a few heavy users decide how much the past explains
_ROUNDING = 1e-9  # a variance that is a smaller share of its terms is what rounding left of zero


def adjust_by_past(
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
