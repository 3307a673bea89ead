"""Verdicts never claim what may be chance, and never say to widen what got worse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.reports.comparison import MIN_SAMPLE, ComparisonVerdict, compare_metrics
from analytics.reports.op_figures import OpFigures
from analytics.reports.totals import Totals
from analytics.reports.verdicts import DECIDING_METRICS, Advice, find_worst_op, judge


@st.composite
def sides(draw: st.DrawFn) -> Totals:
    """Return totals of a side, from hardly any to many."""

    def draw_part(whole: int) -> int:
        return draw(st.integers(0, whole))

    calls, turns, searches = (draw(st.integers(0, 3_000)) for _ in range(3))
    failed, calling = draw_part(calls), draw_part(turns)
    return Totals(
        calls=calls,
        failed=failed,
        repaired=draw_part(failed),
        searches=searches,
        misses=draw_part(searches),
        turns=turns,
        calling=calling,
        succeeding=draw_part(calling),
        lost=draw_part(turns),
        looping=draw_part(turns),
    )


@given(first=sides(), second=sides())
def test_verdict_claims_no_difference_that_may_be_chance(first: Totals, second: Totals) -> None:
    verdict = judge(compare_metrics(first, second, days=7))

    claims = [*verdict.worse, *verdict.better]
    if verdict.advice in (Advice.WIDEN, Advice.STOP, Advice.HOLD):
        claims.append(verdict.reason)
    for each in claims:
        assert each.interval is not None
        assert not each.interval.low <= 0 <= each.interval.high
        assert min(each.first.total, each.second.total) >= MIN_SAMPLE


@given(first=sides(), second=sides())
def test_verdict_never_widens_what_got_worse(first: Totals, second: Totals) -> None:
    comparisons = compare_metrics(first, second, days=7)
    verdict = judge(comparisons)

    got_worse = [each.metric for each in comparisons if each.verdict == ComparisonVerdict.WORSE]
    if verdict.advice == Advice.WIDEN:
        assert not got_worse
        assert verdict.reason.verdict == ComparisonVerdict.BETTER
        assert verdict.reason.metric in DECIDING_METRICS
    assert (verdict.advice == Advice.STOP) == any(metric in got_worse for metric in DECIDING_METRICS)
    assert {each.metric for each in verdict.worse} == set(got_worse) - {verdict.reason.metric}


@given(first=sides(), second=sides())
def test_sides_are_not_both_to_be_widened(first: Totals, second: Totals) -> None:
    advice = {judge(compare_metrics(*pair, days=7)).advice for pair in ((first, second), (second, first))}

    assert advice != {Advice.WIDEN}


GOOD, BAD = {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 100}


@pytest.mark.parametrize(
    ("first", "second", "advice"),
    [
        (BAD, GOOD, Advice.WIDEN),
        (GOOD, BAD, Advice.STOP),
        (GOOD, GOOD, Advice.NO_DIFFERENCE),
        ({"calls": 10}, GOOD, Advice.WAIT),
        # Fewer failed calls, but more loops: a guard holds it back.
        ({**BAD, "turns": 400, "looping": 1}, {**GOOD, "turns": 400, "looping": 40}, Advice.HOLD),
        # Fewer failed calls, but fewer turns reach their goal.
        ({**BAD, "calling": 400, "succeeding": 390}, {**GOOD, "calling": 400, "succeeding": 300}, Advice.STOP),
        # Too few calls to tell, but loops tell enough.
        ({"calls": 10, "turns": 400, "looping": 1}, {"calls": 10, "turns": 400, "looping": 40}, Advice.HOLD),
        # As many failed calls, but more turns reach their goal.
        ({**GOOD, "calling": 400, "succeeding": 300}, {**GOOD, "calling": 400, "succeeding": 390}, Advice.WIDEN),
        # Only a rate improved by which nothing is decided.
        ({**GOOD, "searches": 400, "misses": 90}, {**GOOD, "searches": 400, "misses": 9}, Advice.NO_DIFFERENCE),
    ],
)
def test_advice(first: dict[str, int], second: dict[str, int], advice: Advice) -> None:
    assert judge(compare_metrics(Totals(**first), Totals(**second), days=7)).advice == advice


def test_worst_op_fails_more_often_than_the_others_beyond_chance() -> None:
    figures = {
        "": OpFigures(calls=300, not_found=300),  # unknown names are no op
        "most_failed": OpFigures(calls=2_000, invalid=200),
        "often_failed": OpFigures(calls=200, invalid=150),
        "rarely_called": OpFigures(calls=20, invalid=20),
        "fine": OpFigures(calls=500),
    }

    worst = find_worst_op(figures)

    assert worst is not None
    assert (worst.op, worst.own.rate) == ("often_failed", 0.75)
    assert worst.others.total == 2_820
    assert find_worst_op({"fine": OpFigures(calls=900, invalid=9), "other": OpFigures(calls=900, invalid=9)}) is None
    assert find_worst_op({"only": OpFigures(calls=900, invalid=900)}) is None
    assert find_worst_op({}) is None
