"""Experiments from draft to decision: who gets which arm, and what is refused."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from analytics.experiments import lifecycle
from analytics.experiments.arm_plans import ArmPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, CohortRule, Flag
from audit.models import AuditEntry
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON
from tests.support.rows.experiment_rows import create_experiment

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
USERS = [f"user-{number}" for number in range(2_000)]
STEPS = [[1, 4], [5, 4], [25, 8], [50, 8]]


def assign(users: list[str] = USERS) -> dict[str, str]:
    """Return {user: cohort} of the users in a cohort of surfaces."""
    rollout = assignment.load_rollout()
    decided = {user: rollout.evaluate(FlagKey.SURFACE, EvaluationContext(subject=user)).cohort for user in users}
    return {user: cohort for user, cohort in decided.items() if cohort}


def test_arms_divide_the_share_by_their_weights() -> None:
    experiment = Experiment(name="tools", flag_id=FlagKey.SURFACE, share=60)
    arms = [ArmPlan("legacy", 1), ArmPlan("hybrid", 1), ArmPlan("gateway", 2)]
    lifecycle.start(lifecycle.create_experiment(experiment, arms, by="pm", at=NOON), by="pm", at=NOON)

    counts = Counter(assign().values())

    assert counts["tools-control"] == pytest.approx(300, abs=60)
    assert counts["tools-b"] == pytest.approx(300, abs=60)
    assert counts["tools-c"] == pytest.approx(600, abs=80)


def test_draft_serves_nobody() -> None:
    experiment = Experiment(name="tools", flag_id=FlagKey.SURFACE)

    lifecycle.create_experiment(experiment, [ArmPlan("legacy"), ArmPlan("hybrid")], by="pm", at=NOON)

    assert assign() == {}


def test_audience_has_the_rules_of_cohorts() -> None:
    experiment = Experiment(name="tools", flag_id=FlagKey.SURFACE)
    rules = [CohortRule(attribute="environment", values=["dev"])]
    arms = [ArmPlan("legacy"), ArmPlan("hybrid")]
    lifecycle.start(lifecycle.create_experiment(experiment, arms, rules, by="pm", at=NOON), by="pm", at=NOON)

    rollout = assignment.load_rollout()

    for environment, is_in in (("dev", True), ("production", False)):
        context = EvaluationContext(subject="ana", environment=environment)
        assert bool(rollout.evaluate(FlagKey.SURFACE, context).cohort) is is_in


def test_experiments_on_one_flag_exclude_each_other() -> None:
    create_experiment(NOON, name="one", share=50)
    before = assign()

    create_experiment(NOON, name="two", share=100)

    after = assign()
    assert before.items() <= after.items()  # nobody moved from the first one
    assert len(after) == len(USERS)


def test_guarded_steps_keep_users_in_their_arm_and_both_arms_equal() -> None:
    experiment = create_experiment(NOON, steps=STEPS)
    seen: dict[str, str] = {}
    for percent, _ in STEPS:
        assigned = assign()
        assert seen.items() <= assigned.items()
        seen = assigned
        for arm in ("tools-control", "tools-b"):
            share = list(assigned.values()).count(arm) / len(USERS)
            assert share == pytest.approx(percent / 100, abs=0.03)
        lifecycle.advance(experiment, by="pm", at=NOON)

    experiment.refresh_from_db()
    assert (experiment.state, experiment.decision) == ("decided", "ship")
    assert set(assign().values()) == {"tools-b"}
    assert len(assign()) == len(USERS)


def test_stopped_experiment_serves_nobody_and_keeps_its_reason() -> None:
    experiment = create_experiment(NOON)

    assert lifecycle.stop(experiment, "It does harm.", by="guardrail", at=NOON + HOUR)

    experiment.refresh_from_db()
    assert (experiment.state, experiment.stopped_at, experiment.stop_reason) == (
        "stopped",
        NOON + HOUR,
        "It does harm.",
    )
    assert assign() == {}
    assert AuditEntry.objects.filter(kind="experiment", time=NOON + HOUR).get().note == "It does harm."
    assert not lifecycle.stop(experiment, "Again.", by="pm", at=NOON + HOUR)


def test_experiment_that_starts_again_has_the_same_users_and_figures_of_its_own() -> None:
    experiment = create_experiment(NOON)
    before = {user: arm.partition("-")[2] for user, arm in assign().items()}
    lifecycle.stop(experiment, "Wait.", by="pm", at=NOON + HOUR)
    experiment.refresh_from_db()

    again = lifecycle.start_again(experiment, by="pm", at=NOON + 2 * HOUR)

    assert (again.name, again.state, again.started_at) == ("tools-2", "running", NOON + 2 * HOUR)
    experiment.refresh_from_db()
    assert (experiment.state, experiment.note) == ("decided", "Started again as tools-2.")  # it waits for nobody
    assert {user: arm.removeprefix("tools-2-") for user, arm in assign().items()} == before


def test_dropped_experiment_gives_everyone_the_default() -> None:
    experiment = create_experiment(NOON)

    lifecycle.decide(experiment, "drop", "No gain.", by="pm", at=NOON + HOUR)

    experiment.refresh_from_db()
    assert (experiment.state, experiment.decision, experiment.note) == ("decided", "drop", "No gain.")
    assert assign() == {}


def test_running_experiment_cannot_be_edited_or_started_twice() -> None:
    experiment = create_experiment(NOON)

    for change in (
        lambda: lifecycle.check_editable(experiment),
        lambda: lifecycle.start(experiment, by="pm", at=NOON),
        lambda: lifecycle.advance(experiment, by="pm", at=NOON),  # it has no steps
        lambda: lifecycle.decide(experiment, "perhaps", "", by="pm", at=NOON),
    ):
        with pytest.raises(ExperimentRefused):
            change()


def test_experiment_waits_for_its_flag() -> None:
    Flag.objects.filter(pk=FlagKey.SURFACE).update(is_on=False)

    with pytest.raises(ExperimentRefused, match="switch it on first"):
        create_experiment(NOON)


def test_second_one_on_a_flag_cannot_go_step_by_step() -> None:
    create_experiment(NOON, name="one", steps=STEPS)
    create_experiment(NOON, name="two")  # beside it, for the others

    with pytest.raises(ExperimentRefused, match="one already goes step by step on the flag Surface"):
        create_experiment(NOON, name="three", steps=STEPS)


@for_each(
    "fields",
    [
        {"primary_metric": "happiness"},
        {"guardrails": ["happiness"]},
        {"steps": [[50, 4], [5, 4]]},
        {"steps": [[60, 4]]},
        {"steps": [[5, 0]]},
        {"steps": "5%"},
        {"variants": ["legacy"]},
        {"variants": ["legacy", "nothing"]},
        {"variants": ["legacy", "hybrid", "gateway"], "steps": STEPS},
        {"name": "No spaces"},
    ],
)
def test_plan_that_cannot_work_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        create_experiment(NOON, **fields)
    assert not Cohort.objects.filter(experiment__isnull=False).exists()
