"""The verdict on an experiment is one sentence that stays true whenever it is read."""

from datetime import timedelta
from typing import Any

import pytest

from analytics.experiments import lifecycle, verdict_text
from analytics.experiments.metrics import METRICS
from analytics.experiments.verdict_text import PHRASES, Tone, estimate_days_left
from analytics.rollout.experiments import Experiment
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON
from tests.support.rows.experiment_rows import create_draft, create_experiment

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
LESS = {"difference": -0.031, "low": -0.05, "high": -0.012, "verdict": "better"}
MORE = {"difference": 0.031, "low": 0.012, "high": 0.05, "verdict": "worse"}
NONE = {"difference": -0.01, "low": -0.031, "high": 0.022, "verdict": "none"}
WAIT = {"difference": -0.01, "low": None, "high": None, "verdict": "wait", "users": [12, 1]}


def build_figures(*rows: dict[str, Any], **fields: Any) -> dict[str, Any]:
    filled = [
        {"metric": "failure_rate", "arm": f"tools-{arm}", "control": 0.1, "value": 0.1, "users": [40, 40], **row}
        for arm, row in zip("bcd", rows, strict=False)
    ]
    return {"metrics": filled, "guardrails": [], "sample_ratio_p": 0.5, "subjects": {"tools-control": 40}, **fields}


@pytest.fixture
def experiment() -> Experiment:
    return create_experiment(NOON)


@for_each(
    "row, sentence, tone",
    [
        (LESS, "Surface hybrid fails 3.1 points less than surface legacy (1.2 to 5.0).", Tone.GOOD),
        (MORE, "Surface hybrid fails 3.1 points more than surface legacy (1.2 to 5.0).", Tone.BAD),
        (
            NONE,
            "Surface hybrid and surface legacy do not clearly differ in failure rate (−3.1 to +2.2 points).",
            Tone.NEUTRAL,
        ),
        (
            WAIT,
            "Wait: surface legacy has 12 users with data and surface hybrid 1, and a test needs 20 on each side.",
            Tone.NEUTRAL,
        ),
        (NONE | {"value": None}, "Wait: there is no failure rate of surface hybrid yet.", Tone.NEUTRAL),
    ],
)
def test_running_experiment_has_one_sentence(experiment: Experiment, row: Any, sentence: str, tone: Tone) -> None:
    verdict = verdict_text.describe_verdict(experiment, build_figures(row))

    assert (verdict.text, verdict.tone) == (f"{sentence} You may look at this at any time.", tone)
    assert verdict.speaks_for_shipping is (tone == Tone.GOOD)


@for_each(
    "row, words",
    [
        (LESS, "Better: 1.2 to 5.0 points less"),
        (NONE, "No difference beyond chance: −3.1 to +2.2 points"),
        (LESS | {"verdict": "none"}, "May be chance, as one of several: −5.0 to −1.2 points"),
    ],
)
def test_row_says_what_changed(row: Any, words: str) -> None:
    [filled] = build_figures(row)["metrics"]

    assert verdict_text.describe_change(filled) == words


def test_broken_split_is_said_instead_of_a_verdict(experiment: Experiment) -> None:
    verdict = verdict_text.describe_verdict(experiment, build_figures(LESS, sample_ratio_p=0.0001))

    assert "no figure can be believed (tools-control: 40)" in verdict.text
    assert verdict.tone == Tone.BAD


def test_better_arm_with_harm_elsewhere_does_not_speak_for_shipping(experiment: Experiment) -> None:
    harm = [{"verdict": "worse", "kind": "signal"}]

    assert not verdict_text.describe_verdict(experiment, build_figures(LESS, guardrails=harm)).speaks_for_shipping


def test_stopped_experiment_does_not_ask_to_look_again(experiment: Experiment) -> None:
    lifecycle.stop(experiment, "Enough.", by="pm", at=NOON + HOUR)
    experiment.refresh_from_db()

    assert "at any time" not in verdict_text.describe_verdict(experiment, build_figures(LESS)).text


def test_every_arm_has_its_part_of_the_sentence() -> None:
    experiment = create_experiment(NOON, variants=["legacy", "hybrid", "gateway"])

    text = verdict_text.describe_verdict(experiment, build_figures(LESS, NONE)).text

    assert "Surface hybrid fails 3.1 points less" in text
    assert "; surface gateway and surface legacy do not clearly differ" in text


def test_aa_test_names_arms_and_expects_nothing() -> None:
    experiment = create_experiment(NOON, variants=["legacy", "legacy"])

    none, found = (verdict_text.describe_verdict(experiment, build_figures(row)) for row in (NONE, LESS))

    assert "Tools-b and tools-control do not clearly differ" in none.text
    assert "nothing should be found" in none.text
    assert found.tone == Tone.WARNING


def test_draft_and_first_minute_have_no_figures(experiment: Experiment) -> None:
    assert "draft" in verdict_text.describe_verdict(create_draft(NOON, name="other"), None).text
    assert "no figures yet" in verdict_text.describe_verdict(experiment, None).text


def test_every_metric_has_a_phrase_and_a_unit() -> None:
    assert set(PHRASES) == set(METRICS)
    experiment = create_draft(NOON)
    experiment.state = Experiment.State.RUNNING
    for name in METRICS:
        experiment.primary_metric = name
        text = verdict_text.describe_verdict(experiment, build_figures(LESS | {"metric": name})).text
        assert text.startswith("Surface hybrid ")
        assert "{" not in text


def test_days_left_follow_the_pace_of_the_last_day() -> None:
    day = timedelta(days=1)
    history = [(NOON + number * day / 2, number * 50) for number in range(5)]

    assert estimate_days_left(600, history) == 4
    assert estimate_days_left(150, history) == 0
    assert estimate_days_left(600, history[:1]) is None
    assert estimate_days_left(600, [(NOON, 50), (NOON + day, 50)]) is None


def test_experiment_that_ended_without_figures_waits_for_none(experiment: Experiment) -> None:
    lifecycle.stop(experiment, "Stopped by ana.", by="ana", at=NOON + HOUR)
    experiment.refresh_from_db()

    assert verdict_text.describe_verdict(experiment, None).text == "It ended before its first figures."


def test_users_who_were_all_alike_prove_no_interval_of_zero_width() -> None:
    row = NONE | {"metric": "loop_rate", "control": 1.0, "value": 1.0, "difference": 0.0, "low": 0.0, "high": 0.0}

    assert verdict_text.describe_change(row) == "No difference seen"
