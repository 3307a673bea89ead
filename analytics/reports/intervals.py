"""95% confidence intervals: Wilson's score interval for a rate, Newcombe's for the difference of two rates.

E. B. Wilson, JASA 22 (1927) 209–212; R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10. Unlike the
normal approximation, they stay within the possible range, and are valid for small samples and for rates of 0 or 1.
"""

from math import sqrt
from typing import NamedTuple

Z = 1.959964  # standard deviations that contain 95% of a normal distribution


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


def wilson(hits: int, of: int) -> Interval:
    """Return the interval of a rate of `hits` out of `total`, which must be at least 1."""
    rate, square = hits / of, Z * Z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    half = Z / (1 + square / of) * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    # If there are no hits, or only hits, that end is exact; the formula would add a float rounding error.
    return Interval(0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == of else min(1.0, middle + half))


def newcombe(hits: int, of: int, other_hits: int, of_other: int) -> Interval:
    """Return the interval of the difference of two rates, the second minus the first."""
    first, second = hits / of, other_hits / of_other
    a, b = wilson(hits, of), wilson(other_hits, of_other)
    difference = second - first
    return Interval(
        difference - sqrt((second - b.low) ** 2 + (a.high - first) ** 2),
        difference + sqrt((b.high - second) ** 2 + (first - a.low) ** 2),
    )
