"""The comparison of two variants in words."""

import pytest

from analytics.reports import FAILURE_FIELDS
from analytics.reports import comparison as comparing
from analytics.reports.comparison import ConfidenceInterval
from analytics.reports.totals import Totals
from console.reports import by_op
from console.reports.parts import verdicts


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((100, 1_000), (50, 1_000), "Better: 2.7 to 7.3 points lower."),
        ((50, 1_000), (100, 1_000), "Worse: 2.7 to 7.3 points higher."),
        ((6, 60), (5, 60), "No significant difference: between −13 and +9 points."),
        ((3, 60), (11, 60), "Worse: 2 to 25 points higher."),
        ((50, 1_000), (71, 1_000), "Worse: less than 0.1 to 4.2 points higher."),
        ((5, 25), (5, 1_000), "Not enough data: 25 of 50 calls; about 7 more days."),
    ],
)
def test_difference_is_described_in_words(first: tuple[int, int], second: tuple[int, int], words: str) -> None:
    sides = [Totals(failed=failed, calls=calls) for failed, calls in (first, second)]

    compared = comparing.compare_metrics(*sides, days=7)[0]
    assert verdicts.describe_comparison(compared) == words


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
    assert verdicts.format_signed(value, interval) == text


def test_every_failure_has_a_label() -> None:
    assert set(by_op.FAILURE_LABELS) == set(FAILURE_FIELDS)
