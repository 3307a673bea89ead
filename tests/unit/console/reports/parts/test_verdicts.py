"""Comparisons and verdicts in words."""

import re
from dataclasses import replace

import pytest
from hypothesis import given

from analytics.experiments.cohorts.comparison import COMPARED, ComparisonVerdict, MetricComparison
from analytics.experiments.cohorts.verdicts import judge
from analytics.experiments.proportions import ConfidenceInterval
from console.reports.parts.verdicts import COHORT_ADVICE, HITS, describe_comparison, describe_verdict, format_signed
from tests.support.values.comparisons import Difference, any_comparisons, build_comparison, build_comparisons

BETTER, WORSE = (-0.05, 0.023), (0.05, 0.023)


def describe(comparisons: list[MetricComparison]) -> str:
    return describe_verdict(judge(comparisons), "pilot", "others", COHORT_ADVICE)


@pytest.mark.parametrize(
    ("differences", "subjects", "text"),
    [
        (
            {"failure_rate": BETTER},
            (200, 200),
            "pilot: 5.0 points fewer failed calls than others (2.7 to 7.3), and no rate of all calls together got "
            "worse. Widen it.",
        ),
        (
            {"failure_rate": WORSE},
            (200, 200),
            "pilot: 5.0 points more failed calls than others (2.7 to 7.3). Stop or narrow it.",
        ),
        (
            {"failure_rate": BETTER, "loop_rate": (0.1, 0.03)},
            (200, 200),
            "pilot: 10.0 points more turns with a loop than others (7.0 to 13.0), but 5.0 points fewer failed calls "
            "(2.7 to 7.3). Do not widen it yet.",
        ),
        (
            {},
            (200, 200),
            "pilot: no difference in failed calls from others beyond chance (between −2.0 and +2.0 points). "
            "Wait for more data, or decide by other criteria.",
        ),
        ({}, (19, 90), "pilot: not enough data yet: 19 of 20 users from others, so about 1 more day at this rate."),
        ({}, (90, 0), "pilot: not enough data yet: 0 of 20 users."),
    ],
)
def test_verdict_is_a_sentence(differences: dict[str, Difference], subjects: tuple[int, int], text: str) -> None:
    assert describe(build_comparisons(subjects=subjects, **differences)) == text


@given(any_comparisons())
def test_every_verdict_has_words(comparisons: list[MetricComparison]) -> None:
    text = describe(comparisons)

    assert text.startswith("pilot: ")
    assert text.endswith(".")
    assert not re.search(r" 0(\.0)? points (fewer|more)", text)


def test_every_metric_has_words() -> None:
    assert set(HITS) == {each.name for each in COMPARED}


@pytest.mark.parametrize(
    ("difference", "subjects", "words"),
    [
        (BETTER, (200, 200), "Better: 2.7 to 7.3 points lower."),
        (WORSE, (200, 200), "Worse: 2.7 to 7.3 points higher."),
        ((-0.02, 0.11), (60, 60), "No difference beyond chance: between −13 and +9 points."),
        ((0.0205, 0.0204), (200, 200), "Worse: less than 0.1 to 4.1 points higher."),
        (None, (10, 200), "Not enough data: 10 of 20 users; about 7 more days."),
        (None, (19, 200), "Not enough data: 19 of 20 users; about 1 more day."),
    ],
)
def test_difference_is_described_in_words(difference: Difference | None, subjects: tuple[int, int], words: str) -> None:
    assert describe_comparison(build_comparison("failure_rate", difference, subjects=subjects)) == words


def test_sides_that_share_their_users_are_not_compared() -> None:
    shared = [replace(each, shared_subjects=60) for each in build_comparisons(subjects=(63, 0), failure_rate=None)]

    assert describe(shared).startswith("pilot: not comparable with others, because its users are in both.")
    assert describe_comparison(shared[0]) == "Not compared: the users are on both sides."


def test_difference_that_is_clear_only_alone_may_be_chance() -> None:
    clear = build_comparison("loop_rate", (-0.035, 0.03))

    words = describe_comparison(replace(clear, verdict=ComparisonVerdict.NONE))

    assert words == "May be chance, as one of several rates: between −6.5 and −0.5 points."


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
