"""The statistics of experiments, against published figures and their own promises."""

import json
import random
from collections.abc import Callable, Sequence
from io import StringIO
from math import isclose
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from analytics.experiments import statistics
from analytics.experiments.statistics import ArmMoments, ArmResult, ArmVerdict, MetricKind, MetricTest

Pairs = Sequence[Sequence[float]]


def rate(hits: int, total: int) -> ArmMoments:
    """Return an arm of subjects with one call each."""
    return ArmMoments.of_pairs([[1, 1]] * hits + [[0, 1]] * (total - hits))


def mean(value: float, deviation: float, subjects: int) -> ArmMoments:
    """Return an arm with a mean, and a standard deviation that divides by one less than the subjects."""
    return ArmMoments(subjects, value, 1, deviation**2 * (subjects - 1) / subjects, 0, 0)


def failures(tuning: float, *, tails: int = 2) -> MetricTest:
    return MetricTest(MetricKind.RATIO, lower_is_better=True, tuning=tuning, tails=tails)


# GrowthBook's gbstats 0.8.0 gives the first four, Lindon and Malek's formula the sample ratios.
@pytest.mark.parametrize(
    ("control", "arm", "tuning", "low", "high", "p"),
    [
        (rate(40, 200), rate(80, 200), 400, 0.06426132743, 0.33573867257, 0.000415554),
        (rate(40, 200), rate(80, 200), 5_000, 0.0172745966, 0.3827254034, 0.026315401),
        (rate(412, 1_030), rate(371, 1_015), 5_000, -0.10148863229, 0.03252311505, 0.76960716728),
        (mean(1_180, 240, 500), mean(1_120, 260, 480), 1_000, -108.568649476, -11.431350524, 0.00583846775),
    ],
)
def test_two_tails_give_the_published_figures(
    control: ArmMoments, arm: ArmMoments, tuning: float, low: float, high: float, p: float
) -> None:
    kind = MetricKind.MEAN if control.numerator > 1 else MetricKind.RATIO

    result = statistics.compare_arms(control, arm, MetricTest(kind, lower_is_better=True, tuning=tuning))

    assert (result.low, result.high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))
    assert result.p == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize(
    ("control", "arm", "tuning", "low", "p"),
    [
        (rate(40, 200), rate(80, 200), 400, 0.07571512748, 0.00024052984),
        (rate(50, 500), rate(80, 500), 1_000, 0.00112516575, 0.04379310290),
    ],
)
def test_one_tail_gives_the_published_figures(
    control: ArmMoments, arm: ArmMoments, tuning: float, low: float, p: float
) -> None:
    result = statistics.compare_arms(control, arm, failures(tuning, tails=1))

    assert (result.low, result.high, result.verdict) == (pytest.approx(low, rel=1e-8), None, ArmVerdict.WORSE)
    assert result.p == pytest.approx(p, rel=1e-6)


def test_one_tail_has_its_bound_on_the_side_of_harm() -> None:
    success = MetricTest(MetricKind.RATIO, lower_is_better=False, tuning=400, tails=1)

    result = statistics.compare_arms(rate(160, 200), rate(120, 200), success)

    assert (result.low, result.high) == (None, pytest.approx(-0.07571512748))
    assert statistics.compare_arms(rate(120, 200), rate(160, 200), success).verdict == ArmVerdict.NONE


@pytest.mark.parametrize(
    ("counts", "weights", "p"),
    [
        ((550, 450), (1, 1), 0.03492096561),
        ((5_300, 4_700), (50, 50), 1.8113709e-07),
        ((930, 70), (0.9, 0.1), 0.0200064388),
        ((9_200, 800), (90, 10), 6.0606774e-10),
        ((0, 0), (1, 1), 1),
        ((10_000, 0), (1, 1), 0),
    ],
)
def test_sample_ratio(counts: Sequence[int], weights: Sequence[float], p: float) -> None:
    assert statistics.compute_sample_ratio_p_value(counts, weights) == pytest.approx(p, rel=1e-7, abs=1e-12)


def test_calls_of_few_subjects_prove_little() -> None:
    """Twenty subjects who always or never fail are twenty cases, however often they call."""
    often = [[100, 100]] * 8 + [[0, 100]] * 12, [[100, 100]] * 12 + [[0, 100]] * 8
    once = [[1, 1]] * 8 + [[0, 1]] * 12, [[1, 1]] * 12 + [[0, 1]] * 8

    results = [
        statistics.compare_arms(*(ArmMoments.of_pairs(side) for side in sides), failures(400))
        for sides in (often, once)
    ]

    assert results[0].low == pytest.approx(results[1].low)
    assert results[0].verdict == ArmVerdict.NONE


@pytest.mark.parametrize(
    ("arm", "verdict", "difference"),
    [
        (rate(0, 19), ArmVerdict.WAIT, -0.5),
        (rate(19, 20), ArmVerdict.WORSE, 0.45),
        (rate(10, 20), ArmVerdict.NONE, 0),
        (rate(0, 0), ArmVerdict.WAIT, None),
        (ArmMoments.of_pairs([[0, 0]] * 50), ArmVerdict.WAIT, None),
    ],
)
def test_verdict_needs_twenty_subjects_with_something_to_count(
    arm: ArmMoments, verdict: ArmVerdict, difference: float | None
) -> None:
    result = statistics.compare_arms(rate(250, 500), arm, failures(500))

    assert (result.verdict, result.difference) == (verdict, pytest.approx(difference) if difference else difference)


@pytest.mark.parametrize("tails", [1, 2])
def test_few_subjects_that_are_alike_have_no_interval(tails: int) -> None:
    few = statistics.compare_arms(rate(0, 3), rate(3, 3), failures(400, tails=tails))

    assert few == ArmResult(1.0, None, None, 1.0, ArmVerdict.WAIT)


@pytest.mark.parametrize(
    ("planned", "verdicts", "guardrails"), [(0, 400, 400), (300, 600, 600), (5_000, 10_000, 1_000)]
)
def test_tuning_follows_the_planned_subjects(planned: int, verdicts: int, guardrails: int) -> None:
    assert statistics.choose_tuning(planned) == verdicts
    assert statistics.choose_guardrail_tuning(planned) == guardrails


def test_tuning_is_larger_where_one_arm_is_small() -> None:
    assert statistics.choose_tuning(500, smaller_share=0.1) == 2_000


@pytest.mark.parametrize("arms", [(rate(8, 360), rate(0, 40)), (rate(0, 40), rate(8, 360))])
def test_small_arm_without_a_failure_is_not_better_by_chance(arms: Sequence[ArmMoments]) -> None:
    """Two percent fail in both: none of 40 does in 45% of cases."""
    assert statistics.compare_arms(*arms, failures(800)).verdict == ArmVerdict.NONE


def test_without_any_failure_there_is_no_difference() -> None:
    result = statistics.compare_arms(rate(0, 100), rate(0, 100), failures(400))

    assert (result.difference, result.p, result.verdict) == (0, 1, ArmVerdict.NONE)


def test_adjusted_p_values_are_those_of_benjamini_and_hochberg() -> None:
    adjusted = statistics.adjust_p_values([0.01, 0.04, 0.03, 0.005])

    assert adjusted == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert statistics.adjust_p_values([]) == []


subjects = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 30)).map(lambda pair: (min(pair), max(pair))), min_size=20
)


@given(subjects, subjects, st.sampled_from([1, 2]))
def test_p_value_and_interval_agree(control: Pairs, arm: Pairs, tails: int) -> None:
    test = failures(400, tails=tails)

    result = statistics.compare_arms(ArmMoments.of_pairs(control), ArmMoments.of_pairs(arm), test)

    if result.difference is not None and not isclose(result.p, test.alpha, abs_tol=1e-3):
        assert (result.verdict == ArmVerdict.NONE) == (result.p > test.alpha)


def judge(tmp_path: Path, entries: object) -> Any:
    """Return what manage.py judge_arms prints for these entries."""
    (tmp_path / "arms.json").write_text(json.dumps(entries))
    call_command("judge_arms", tmp_path / "arms.json", stdout=(output := StringIO()))
    return json.loads(output.getvalue())


FAILURE_RATE = {"kind": "ratio", "lower_is_better": True}
ARMS = {"now": [[1, 1]] * 40 + [[0, 1]] * 160, "new": [[1, 1]] * 80 + [[0, 1]] * 120}


def test_command_judges_each_arm_beside_the_first(tmp_path: Path) -> None:
    three = {"metric": FAILURE_RATE, "tuning": 400, "arms": ARMS | {"few": [[1, 1]] * 10}, "weights": [20, 20, 1]}

    new, few, alone = judge(tmp_path, [three, {"metric": FAILURE_RATE, "tuning": 400, "sides": 1, "arms": ARMS}])

    assert new["sample_ratio_p"] == few["sample_ratio_p"] > 0.05
    assert (new["verdict"], few["verdict"], alone["verdict"]) == ("worse", "wait", "worse")
    assert (new["difference"], round(new["low"], 6), alone["high"]) == (pytest.approx(0.2), 0.064261, None)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({}, "Send a JSON list"),
        ([{"metric": FAILURE_RATE, "arms": ARMS}, {"metric": {"kind": "sum"}}], "Entry 2: metric needs a kind"),
        ([{"metric": FAILURE_RATE, "arms": {"now": []}}], "at least two arms"),
        ([{"metric": FAILURE_RATE, "arms": {"now": [], "new": [[1]]}}], "arm 'new' must be a list of"),
        ([{"metric": FAILURE_RATE, "arms": {"now": [], "new": [[1, float("nan")]]}}], "arm 'new' must be a list of"),
        ([{"metric": FAILURE_RATE, "arms": ARMS, "alpha": 0}], "alpha must be"),
        ([{"metric": FAILURE_RATE, "arms": ARMS, "sides": 3}], "sides must be 1"),
        ([{"metric": FAILURE_RATE, "arms": ARMS, "weights": [1]}], "weights must be"),
    ],
)
def test_command_says_what_to_send_instead(tmp_path: Path, entries: object, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        judge(tmp_path, entries)


def test_command_names_a_file_that_it_cannot_read(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="could not be read: No such file"):
        call_command("judge_arms", tmp_path / "none.json")
    (tmp_path / "text").write_bytes(b"\xff")
    with pytest.raises(CommandError, match="is not JSON"):
        call_command("judge_arms", tmp_path / "text")


def draw_log_normal(generator: random.Random) -> float:
    return generator.lognormvariate(1.4, 1.3)


def draw_pareto(generator: random.Random) -> float:
    return generator.paretovariate(1.2)


@pytest.mark.parametrize("draw_calls", [draw_log_normal, draw_pareto])
def test_chance_alone_hardly_ever_gets_a_verdict_or_an_alarm(draw_calls: Callable[[random.Random], float]) -> None:
    """A hundred experiments without a difference, each looked at twenty times; benchmarks/ has the whole grid."""
    generator = random.Random(44)
    verdict = failures(statistics.choose_tuning(400))
    guardrail = failures(statistics.choose_guardrail_tuning(400), tails=1)

    def draw(count: int) -> list[Sequence[float]]:
        rates = [generator.betavariate(1.5, 8.5) for _ in range(count)]
        calls = [max(1, min(1_000, round(draw_calls(generator)))) for _ in range(count)]
        hits = [sum(generator.random() < rate for _ in range(n)) for rate, n in zip(rates, calls, strict=True)]
        return [statistics.winsorise(pair, 50) for pair in zip(hits, calls, strict=True)]

    verdicts = alarms = 0
    for _ in range(100):
        sides = draw(200), draw(200)
        looks = [[ArmMoments.of_pairs(side[: 10 * look]) for side in sides] for look in range(2, 21)]
        verdicts += any(statistics.compare_arms(*arms, verdict).verdict != ArmVerdict.NONE for arms in looks)
        alarms += any(statistics.compare_arms(*arms, guardrail).verdict != ArmVerdict.NONE for arms in looks)

    assert verdicts <= 11  # 5% gives more in one of 200 such tests
    assert alarms <= 11


def test_equal_arms_have_no_difference_at_any_of_a_thousand_looks() -> None:
    """One A/A experiment, looked at after each user who comes in each arm."""
    generator = random.Random(7)
    test, sums = failures(statistics.choose_tuning(2_000)), ([0.0] * 5, [0.0] * 5)
    for look in range(1, 1_001):
        for side in sums:
            calls, rate = max(1, round(draw_log_normal(generator))), generator.betavariate(1.5, 8.5)
            failed, whole = statistics.winsorise([sum(generator.random() < rate for _ in range(calls)), calls], 50)
            products = (failed, whole, failed * failed, failed * whole, whole * whole)
            side[:] = [before + more for before, more in zip(side, products, strict=True)]

        result = statistics.compare_arms(*(ArmMoments.of_sums(look, side) for side in sums), test)

        assert result.verdict in (ArmVerdict.WAIT, ArmVerdict.NONE), look
