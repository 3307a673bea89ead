"""How sure a rate is, and a difference of two: Wilson's score interval, and Newcombe's of two of them, at 95%.

E. B. Wilson, JASA 22 (1927) 209–212; R. G. Newcombe, Statistics in Medicine 17 (1998) 873–890, method 10. Unlike the
textbook's interval both stay within 0 and 1, and hold where there are few of something, or none.
"""

from math import sqrt
from typing import NamedTuple

Z = 1.959964  # of the normal distribution: 95% lie within so many standard deviations


class Interval(NamedTuple):
    """From where to where a value may lie."""

    low: float
    high: float


def wilson(hits: int, of: int) -> Interval:
    """Return where a rate may lie of which `hits` of so many were seen, `of` being 1 or more."""
    rate, square = hits / of, Z * Z
    middle = (rate + square / (2 * of)) / (1 + square / of)
    half = Z / (1 + square / of) * sqrt(rate * (1 - rate) / of + square / (4 * of * of))
    # Where none or all were seen that end is exact, but for the last digits of a float.
    return Interval(0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == of else min(1.0, middle + half))


def newcombe(hits: int, of: int, other_hits: int, of_other: int) -> Interval:
    """Return where the difference of two rates may lie, the second less the first."""
    first, second = hits / of, other_hits / of_other
    a, b = wilson(hits, of), wilson(other_hits, of_other)
    difference = second - first
    return Interval(
        difference - sqrt((second - b.low) ** 2 + (a.high - first) ** 2),
        difference + sqrt((b.high - second) ** 2 + (first - a.low) ** 2),
    )
