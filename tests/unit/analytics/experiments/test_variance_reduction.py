"""The past of subjects makes intervals narrower, and a limit keeps a few subjects from deciding."""

import random
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from itertools import combinations_with_replacement
from math import sqrt
from operator import mul
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.experiments import statistics
from analytics.experiments.statistics import ArmMoments, ArmResult, MetricKind, MetricTest

Subject = tuple[float, float, float, float]  # numerator and denominator, and both before the first exposure

RATIO = MetricTest(MetricKind.RATIO, lower_is_better=True, tuning=400)
MEAN = MetricTest(MetricKind.MEAN, lower_is_better=True, tuning=400)


def sum_up(subjects: Sequence[Subject]) -> ArmMoments:
    """Return the moments from sums, as SQL computes them."""
    columns = list(zip(*subjects, strict=True))
    products = [list(map(mul, *pair)) for pair in combinations_with_replacement(columns, 2)]
    with_past = sum(subject[3] > 0 for subject in subjects)
    return ArmMoments.of_sums(len(subjects), [sum(values) for values in [*columns, *products]], with_past=with_past)


def draw_subjects(generator: random.Random, count: int, *, harm: float = 0) -> list[Subject]:
    """Return users with failure rates of their own: calls now, with harm added, and for most as many before."""
    subjects: list[Subject] = []
    for _ in range(count):
        own, calls = generator.betavariate(0.4, 1.6), 1 + round(generator.lognormvariate(1.4, 0.8))
        rates = own + harm * (1 - own), own
        now, before = (sum(generator.random() < rate for _ in range(calls)) for rate in rates)
        subjects.append((now, calls, before, calls) if generator.random() < 0.7 else (now, calls, 0, 0))
    return subjects


def width_of(result: ArmResult) -> float:
    assert result.low is not None
    assert result.high is not None
    return result.high - result.low


def cut_past(subjects: Sequence[Subject]) -> list[Subject]:
    return [(a, b, 0, 0) for a, b, _, _ in subjects]


CONTROL, ARM = (draw_subjects(random.Random(seed), 180 + seed) for seed in (1, 2))


def test_ratio_is_adjusted_by_the_regression_on_the_past() -> None:
    """The same by one figure a subject: the metric y and the past x, linearised, and the slope within the arms."""
    everyone = [*CONTROL, *ARM]
    before = sum(c for _, _, c, _ in everyone) / sum(d for *_, d in everyone)
    means, spreads, products, adjusted = [], 0.0, 0.0, []
    for arm in (CONTROL, ARM):
        ratio, calls = sum(a for a, *_ in arm) / sum(b for _, b, *_ in arm), fmean(b for _, b, *_ in arm)
        y = [(a - ratio * b) / calls for a, b, _, _ in arm]
        x = [c - before * d for _, _, c, d in arm]
        spreads += sum((each - fmean(x)) ** 2 for each in x)
        products += sum(left * (right - fmean(x)) for left, right in zip(y, x, strict=True))
        means.append((ratio, fmean(x)))
        adjusted.append((y, x))
    theta = products / spreads
    difference = (means[1][0] - theta * means[1][1]) - (means[0][0] - theta * means[0][1])
    variance = 0.0
    for y, x in adjusted:
        rest = [left - theta * (right - fmean(x)) for left, right in zip(y, x, strict=True)]
        variance += sum(each**2 for each in rest) / len(rest) ** 2

    result = statistics.compare_arms(sum_up(CONTROL), sum_up(ARM), RATIO)

    half = statistics.compute_half_width(variance, len(everyone), alpha=0.05, tuning=400)
    assert result.difference == pytest.approx(difference, rel=1e-12)
    assert (result.low, result.high) == (pytest.approx(difference - half), pytest.approx(difference + half))


def test_mean_counts_subjects_without_a_past_as_the_mean() -> None:
    sides = [[(a, 1.0, c, float(d > 0)) for a, _, c, d in arm] for arm in (CONTROL, ARM)]
    mean = fmean(c for side in sides for _, _, c, d in side if d)
    filled = [[(a, 1.0, c if d else mean, 1.0) for a, _, c, d in side] for side in sides]

    result = statistics.compare_arms(sum_up(sides[0]), sum_up(sides[1]), MEAN)

    expected = statistics.compare_arms(sum_up(filled[0]), sum_up(filled[1]), MEAN)
    assert result.difference == pytest.approx(expected.difference)
    assert (result.low, result.p) == (pytest.approx(expected.low), pytest.approx(expected.p))


@pytest.mark.parametrize("test", [RATIO, MEAN])
@pytest.mark.parametrize(
    ("control", "arm"),
    [
        (cut_past(CONTROL), cut_past(ARM)),
        (CONTROL, cut_past(ARM)),  # one arm of newcomers
        ([(a, b, 0.1, 0.3) for a, b, _, _ in CONTROL], [(a, b, 0.1, 0.3) for a, b, _, _ in ARM]),  # all pasts equal
        ([(a, b, c, b) for a, b, c, _ in CONTROL[:99]], ARM),  # fewer than 100 with a past
    ],
)
def test_result_is_the_plain_one_to_the_last_digit_where_the_past_says_nothing(
    control: Sequence[Subject], arm: Sequence[Subject], test: MetricTest
) -> None:
    plain = statistics.compare_arms(sum_up(cut_past(control)), sum_up(cut_past(arm)), test)

    assert statistics.compare_arms(sum_up(control), sum_up(arm), test) == plain


def test_past_makes_the_interval_narrower_and_keeps_the_difference() -> None:
    generator = random.Random(7)
    runs = []
    for _ in range(60):
        control, arm = draw_subjects(generator, 200), draw_subjects(generator, 200, harm=0.125)
        adjusted = statistics.compare_arms(sum_up(control), sum_up(arm), RATIO)
        plain = statistics.compare_arms(sum_up(cut_past(control)), sum_up(cut_past(arm)), RATIO)
        runs.append((adjusted.difference or 0, width_of(adjusted) / width_of(plain)))

    difference = fmean(each for each, _ in runs)
    error = sqrt(fmean((each - difference) ** 2 for each, _ in runs) / len(runs))
    assert difference == pytest.approx(0.1, abs=3 * error)
    assert fmean(share for _, share in runs) < 0.9


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)), min_size=1, max_size=30))
def test_sums_give_the_moments_of_the_pairs(pairs: Sequence[tuple[int, int]]) -> None:
    expected, found = ArmMoments.of_pairs(pairs), sum_up([(a, b, 0, 0) for a, b in pairs])

    for name in ("numerator", "denominator", "numerator_variance", "denominator_variance", "covariance"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9, abs=1e-3)


def test_sums_keep_every_digit_of_large_numbers() -> None:
    """Squares of nanoseconds and of long latencies have more digits than a float."""
    pairs = [(10**12 + offset, 1) for offset in (0, 1, 2)] * 10

    moments = sum_up([(a, b, 0, 0) for a, b in pairs])

    assert moments.numerator_variance == pytest.approx(2 / 3, rel=1e-15)


def test_sums_may_be_decimals() -> None:
    sums = [3.0, 4.5, 5.0, 7.5, 11.25]

    assert ArmMoments.of_sums(2, [Decimal(each) for each in sums]) == ArmMoments.of_sums(2, sums)


PAIRS = [((3, 10), (3, 10)), ((3, 20), (3, 20)), ((30, 40), (15, 20)), ((0, 1_000), (0, 20)), ((0, 0), (0, 0))]


@pytest.mark.parametrize(("pair", "expected"), PAIRS)
def test_winsorised_subject_has_at_most_the_limit_and_its_own_rate(
    pair: tuple[float, float], expected: tuple[float, float]
) -> None:
    assert statistics.winsorise(pair, 20) == expected


@pytest.mark.parametrize(("pair", "expected"), PAIRS)
def test_sql_of_the_docstring_winsorises_alike(pair: tuple[float, float], expected: tuple[float, float]) -> None:
    expressions = ", ".join(re.findall("`(CASE .*?)`", statistics.winsorise.__doc__ or ""))
    parameters = {"a": pair[0], "b": pair[1], "limit": 20}

    with closing(sqlite3.connect(":memory:")) as connection:
        row = connection.execute(re.sub(r"\b([ab])\b", r":\1", f"SELECT {expressions}"), parameters).fetchone()

    assert row == expected
