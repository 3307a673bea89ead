"""Compare two shares of calls as if calls were independent, with Newcombe's confidence intervals.

For warnings and benchmarks only: the calls of one user are alike, so that this claims more than is known.

E. B. Wilson, JASA 22 (1927) 209–212; R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10. Unlike the
normal approximation, they stay within the possible range, and are valid for small samples and for rates of 0 or 1.
"""

from math import sqrt
from typing import NamedTuple

Z = 1.959964  # standard deviations that contain 95% of a normal distribution
CLEAR_Z = 3.290527  # … 99.9%: a warning is looked for every minute
MIN_SAMPLE = 50  # calls of each side; with fewer, the interval is too wide to be useful


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


def is_clearly_higher(hits: int, total: int, other_hits: int, other_total: int) -> bool:
    """Return whether the first share is higher, beyond the chance of independent calls."""
    if min(total, other_total) < MIN_SAMPLE:
        return False
    return compute_newcombe_interval(other_hits, other_total, hits, total, z=CLEAR_Z).low > 0
