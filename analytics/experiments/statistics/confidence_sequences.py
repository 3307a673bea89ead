"""Intervals and p-values that are valid at every look: asymptotic confidence sequences.

I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas, "Time-uniform central limit theory and asymptotic
confidence sequences", arXiv 2103.06476. Equation numbers are of version 7, but for the one-sided bound (134 of version
9).
"""

from math import exp, inf, log, log1p, sqrt

# The search for the p-value of one tail ends as that of GrowthBook's gbstats, so that both give the same figures.
_P_MIN, _P_MAX = 1e-5, 0.4999
_P_TOLERANCE = 1e-6  # of the bound


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


def find_one_sided_p_value(harm: float, variance: float, subjects: int, *, alpha: float, tuning: float) -> float:
    """Return the p-value of one tail: the smallest alpha whose bound would leave zero out."""
    if harm <= 0:
        return 1.0
    if not variance:
        return 0.0
    scale = subjects * _compute_rho_squared(2 * alpha, tuning)
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
