"""Confidence intervals: examples of the papers, and properties of all intervals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.experiments.proportions import compute_newcombe_interval, compute_wilson_interval

pytestmark = pytest.mark.both_databases

HITS_AND_TOTALS = st.integers(1, 100_000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@pytest.mark.parametrize(
    ("hits", "total", "other_hits", "other_total", "low", "high"),
    [  # Newcombe 1998, table II, method 10, with the opposite sign
        (48, 80, 56, 70, 0.0524, 0.3339),
        (3, 10, 9, 10, 0.1705, 0.8090),
        (0, 29, 5, 56, -0.0381, 0.1926),
        (0, 20, 0, 10, -0.1611, 0.2775),
        (0, 10, 10, 10, 0.6075, 1.0),
    ],
)
def test_newcombe_interval_matches_the_paper(
    hits: int, total: int, other_hits: int, other_total: int, low: float, high: float
) -> None:
    assert compute_newcombe_interval(hits, total, other_hits, other_total) == pytest.approx((low, high), abs=6e-5)


def test_wilson_interval_matches_the_paper() -> None:
    # Newcombe 1998, 857-872, table I
    assert compute_wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=6e-5)
    assert compute_wilson_interval(0, 20) == pytest.approx((0.0, 0.1611), abs=6e-5)


@given(first=HITS_AND_TOTALS, second=HITS_AND_TOTALS)
def test_intervals_contain_the_observed_rate_and_stay_in_range(first: tuple[int, int], second: tuple[int, int]) -> None:
    rate, difference = first[0] / first[1], second[0] / second[1] - first[0] / first[1]

    low, high = compute_wilson_interval(*first)
    assert 0 <= low <= rate <= high <= 1
    low, high = compute_newcombe_interval(*first, *second)
    assert -1 - 1e-9 <= low <= difference + 1e-9
    assert difference - 1e-9 <= high <= 1 + 1e-9
    assert compute_newcombe_interval(*second, *first) == pytest.approx((-high, -low))
