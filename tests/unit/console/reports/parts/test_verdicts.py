"""Comparisons and verdicts in words."""

import re

import pytest
from hypothesis import given

from analytics.reports.comparison import METRICS, ConfidenceInterval, compare_metrics
from analytics.reports.totals import Totals
from analytics.reports.verdicts import judge
from console.reports.parts.verdicts import COHORT_ADVICE, HITS, describe_comparison, describe_verdict, format_signed
from tests.unit.analytics.reports.test_verdicts import sides

GOOD, BAD = {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 100}


def describe(first: Totals, second: Totals) -> str:
    return describe_verdict(judge(compare_metrics(first, second, days=7)), "pilot", "others", COHORT_ADVICE)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (
            BAD,
            GOOD,
            "pilot: 5.0 points fewer failed calls than others (2.7 to 7.3), and no rate of all calls together got "
            "worse. Widen it.",
        ),
        (GOOD, BAD, "pilot: 5.0 points more failed calls than others (2.7 to 7.3). Stop or narrow it."),
        (
            {**BAD, "turns": 400},
            {**GOOD, "turns": 400, "looping": 40},
            "pilot: 10.0 points more turns with a loop than others (7.3 to 13.3), but 5.0 points fewer failed calls "
            "(2.7 to 7.3). Do not widen it yet.",
        ),
        (
            GOOD,
            GOOD,
            "pilot: no difference in failed calls from others beyond chance (between −1.9 and +1.9 points). "
            "Wait for more data, or decide by other criteria.",
        ),
        (
            {"calls": 49},
            GOOD,
            "pilot: not enough data yet: 49 of 50 calls from others, so about 1 more day at this rate.",
        ),
        (GOOD, {}, "pilot: not enough data yet: 0 of 50 calls."),
    ],
)
def test_verdict_is_a_sentence(first: dict[str, int], second: dict[str, int], text: str) -> None:
    assert describe(Totals(**first), Totals(**second)) == text


@given(first=sides(), second=sides())
def test_every_verdict_has_words(first: Totals, second: Totals) -> None:
    text = describe(first, second)

    assert text.startswith("pilot: ")
    assert text.endswith(".")
    assert not re.search(r" 0(\.0)? points (fewer|more)", text)


def test_every_metric_has_words() -> None:
    assert set(HITS) == {each.name for each in METRICS}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((100, 1_000), (50, 1_000), "Better: 2.7 to 7.3 points lower."),
        ((50, 1_000), (100, 1_000), "Worse: 2.7 to 7.3 points higher."),
        ((6, 60), (5, 60), "No significant difference: between −13 and +9 points."),
        ((3, 60), (11, 60), "Worse: 2 to 25 points higher."),
        ((50, 1_000), (71, 1_000), "Worse: less than 0.1 to 4.2 points higher."),
        ((5, 25), (5, 1_000), "Not enough data: 25 of 50 calls; about 7 more days."),
        ((5, 49), (5, 1_000), "Not enough data: 49 of 50 calls; about 1 more day."),
    ],
)
def test_difference_is_described_in_words(first: tuple[int, int], second: tuple[int, int], words: str) -> None:
    sides = [Totals(failed=failed, calls=calls) for failed, calls in (first, second)]

    compared = compare_metrics(*sides, days=7)[0]
    assert describe_comparison(compared) == words


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.0123, ConfidenceInterval(0.01, 0.02), "+1.2"),
        (0.0001, ConfidenceInterval(-0.02, 0.02), "0.0"),
        (-0.004, ConfidenceInterval(-0.2, 0.2), "0"),
    ],
)
def test_points_are_rounded_to_the_precision_of_their_interval(
    value: float, interval: ConfidenceInterval, text: str
) -> None:
    assert format_signed(value, interval) == text
