"""Two sides: a difference is told where there is enough, and as chance where it may be."""

import pytest

from analytics.reports import comparing
from analytics.reports.comparing import LEAST, METRICS, Share, Verdict
from analytics.reports.scope import Scope
from analytics.reports.totals import Totals
from tests.unit.analytics.reports.conftest import NOON, Write

pytestmark = pytest.mark.both_databases


def of(name: str, first: Totals, second: Totals, days: int = 7) -> comparing.Compared:
    (found,) = (each for each in comparing.compared(first, second, days=days) if each.metric.name == name)
    return found


@pytest.mark.parametrize(
    ("name", "first", "second", "verdict"),
    [
        ("Failure rate", {"calls": 1_000, "failed": 100}, {"calls": 1_000, "failed": 50}, Verdict.BETTER),
        ("Failure rate", {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 100}, Verdict.WORSE),
        ("Failure rate", {"calls": 1_000, "failed": 50}, {"calls": 1_000, "failed": 55}, Verdict.NONE),
        ("Failure rate", {"calls": LEAST - 1, "failed": 40}, {"calls": 1_000, "failed": 1}, Verdict.TOO_FEW),
        ("Failure rate", {"calls": LEAST, "failed": 40}, {"calls": 1_000, "failed": 1}, Verdict.BETTER),
        ("Failure rate", {}, {"calls": 1_000}, Verdict.TOO_FEW),
        ("Failure rate", {"calls": 1_000}, {"calls": 1_000}, Verdict.NONE),
        ("Repair rate", {"failed": 200, "mended": 80}, {"failed": 200, "mended": 160}, Verdict.BETTER),
        ("Turns with a successful call", {"calling": 200, "succeeding": 190}, {"calling": 200}, Verdict.WORSE),
        ("Turns with a loop", {"turns": 200, "looping": 40}, {"turns": 200, "looping": 1}, Verdict.BETTER),
        ("Turns with an unknown name", {"turns": 200, "lost": 1}, {"turns": 200, "lost": 40}, Verdict.WORSE),
        ("Searches that found nothing", {"searches": 99, "misses": 50}, {"searches": 99}, Verdict.BETTER),
    ],
)
def test_verdict_is_of_the_interval(name: str, first: dict[str, int], second: dict[str, int], verdict: Verdict) -> None:
    assert of(name, Totals(**first), Totals(**second)).verdict == verdict


def test_every_metric_is_told() -> None:
    found = comparing.compared(Totals(), Totals(), days=7)

    assert [each.metric for each in found] == list(METRICS)
    assert {each.verdict for each in found} == {Verdict.TOO_FEW}
    assert {each.difference for each in found} == {None}


@pytest.mark.parametrize(("calls", "days"), [(25, 7), (49, 1), (5, 63), (0, None)])
def test_too_few_says_how_many_days_to_wait(calls: int, days: int | None) -> None:
    assert of("Failure rate", Totals(calls=calls), Totals(calls=1_000)).days_to_wait == days


def test_difference_is_the_second_less_the_first() -> None:
    found = of("Failure rate", Totals(calls=100, failed=30), Totals(calls=100, failed=20))

    assert found.difference == pytest.approx(-0.1)
    assert (found.first, found.second) == (Share(30, 100), Share(20, 100))


def test_ops_that_moved_by_more_than_chance_are_told(daily: Write) -> None:
    for release, failed in (("r1", (40, 10, 1, 60)), ("r2", (10, 12, 40, 50))):
        for number, each in enumerate(failed):
            daily(f"op{number}", release=release, calls=100 if number != 2 else 45, invalid=each)
    daily("", release="r1", calls=100, not_found=100)
    daily("only", release="r2", calls=100, not_found=100)

    found = comparing.moved(Scope(NOON), "release", "r1", "r2")

    assert [(each.op, round(each.difference, 2)) for each in found] == [("op0", -0.3)]
    assert found[0].interval.high < 0
