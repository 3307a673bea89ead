"""Verdicts in words."""

import re

import pytest
from hypothesis import given

from analytics.reports.comparison import METRICS, compare_metrics
from analytics.reports.totals import Totals
from analytics.reports.verdicts import judge
from console.reports.parts.verdicts import COHORT_ADVICE, HITS, describe_verdict
from tests.unit.analytics.reports.test_verdicts import sides

GOOD, BAD = {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 100}


def describe(first: Totals, second: Totals) -> str:
    return describe_verdict(judge(compare_metrics(first, second, days=7)), "pilot", "others", COHORT_ADVICE)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (BAD, GOOD, "pilot: 5.0 points fewer failed calls than others (2.7 to 7.3), and no rate got worse. Widen it."),
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
