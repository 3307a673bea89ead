"""Plans of what goes step by step, and cohorts that are widened so."""

from datetime import timedelta

import pytest

from analytics.experiments import experiment_job, guarded_steps, lifecycle
from analytics.experiments.arm_plans import DEFAULT_STEPS
from analytics.experiments.guarded_steps import GuardedPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import FlagKey
from analytics.rollout import assignment
from analytics.rollout.evaluation import EvaluationContext
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, CohortRule
from audit.models import AuditEntry
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import NOON
from tests.support.rows.experiment_rows import add_users, create_experiment

HOUR = timedelta(hours=1)
PLAN = GuardedPlan("wider", [[5, 4], [25, 8]])
USERS = [f"user-{number}" for number in range(1_000)]


@for_each("text", ["1:4,5:4, 25:8, 50:0.5", "1% 4 h, 5% 4 h, 25% 8 h, 50% 0.5 h", "1% for 4 hours, 5 4, 25 8, 50 0.5"])
def test_steps_are_read_as_people_write_them(text: str) -> None:
    steps = guarded_steps.parse_steps(text)

    assert steps == [[1, 4], [5, 4], [25, 8], [50, 0.5]]
    assert guarded_steps.format_steps(steps) == "1% 4 h, 5% 4 h, 25% 8 h, 50% 0.5 h"


@for_each("text", ["", ",", "5", "1:4, 5", "1:2:3", "all"])
def test_steps_without_percent_and_hours_are_refused(text: str) -> None:
    with pytest.raises(ExperimentRefused, match="percent and the hours of each step"):
        guarded_steps.parse_steps(text)


@pytest.mark.django_db
def test_template_is_what_was_used_last_on_the_flag() -> None:
    assert guarded_steps.load_template(FlagKey.SURFACE) == GuardedPlan("", DEFAULT_STEPS, ("failure_rate",))
    create_experiment(NOON, steps=[[2, 1]], guardrails=["latency"])

    assert guarded_steps.load_template(FlagKey.SURFACE) == GuardedPlan("", [[2, 1]], ("latency",))
    assert guarded_steps.load_template(FlagKey.RELEASE).steps == DEFAULT_STEPS


def find_variants(environment: str = "dev") -> dict[str, str]:
    rollout = assignment.load_rollout()
    contexts = (EvaluationContext(subject=user, environment=environment) for user in USERS)
    return {each.subject: rollout.evaluate(FlagKey.SURFACE, each).variant for each in contexts}


def create_cohort(name: str = "pilot", percentage: int = 5, **fields: object) -> Cohort:
    values = {"variant": "gateway", "flag_id": FlagKey.SURFACE, "percentage": percentage} | fields
    return Cohort.objects.create(name=name, **values)


@pytest.mark.django_db
def test_widened_cohort_keeps_its_users_and_its_rules() -> None:
    cohort = create_cohort(listed=["user-1"])
    CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
    before = find_variants()
    others = find_variants("production")

    experiment = guarded_steps.widen_cohort(cohort, PLAN, by="pm", at=NOON)

    assert find_variants() == before
    assert find_variants("production") == others
    cohort.refresh_from_db()
    assert (cohort.is_on, cohort.percentage, cohort.listed) == (True, 0, ["user-1"])
    assert "wider" in AuditEntry.objects.get(kind="cohort", name="pilot").note
    lifecycle.advance(experiment, by="pm", at=NOON + HOUR)
    assert list(find_variants().values()).count("gateway") == pytest.approx(250, abs=40)
    lifecycle.advance(experiment, by="pm", at=NOON + HOUR)
    assert set(find_variants().values()) == {"gateway"}  # it is shipped
    assert find_variants("production") == others


@pytest.mark.django_db
def test_release_for_some_users_is_shipped_to_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "_is_servable", lambda _: True)
    cohort = create_cohort(flag_id=FlagKey.RELEASE, variant="a" * 64)
    CohortRule.objects.create(cohort=cohort, attribute="environment", values=["dev"])
    experiment = guarded_steps.widen_cohort(cohort, PLAN, by="pm", at=NOON)

    lifecycle.decide(experiment, "ship", "", by="pm", at=NOON + HOUR)

    assert [(arm.is_on, arm.percentage) for arm in experiment.arms.order_by("position")] == [(False, 5), (True, 100)]


@pytest.mark.django_db
def test_cohort_that_cannot_be_widened_says_why() -> None:
    arm = create_experiment(NOON).list_arms()[0]
    for cohort, problem in (
        (arm, "an arm of the experiment tools"),
        (create_cohort("off", is_on=False), "Start it first"),
        (create_cohort("same", variant="legacy"), "nothing to widen"),
        (create_cohort("half", 50), "too few users are left"),
        (create_cohort("early", variant="hybrid"), r"Later cohorts \(more\) decide for its other users"),
        (create_cohort("more", 10), "at 10% already"),
    ):
        with pytest.raises(ExperimentRefused, match=problem):
            guarded_steps.widen_cohort(cohort, PLAN, by="pm", at=NOON)
    assert Experiment.objects.count() == 1


@pytest.mark.django_db
def test_step_that_a_person_lets_go_on_without_a_test_is_kept() -> None:
    experiment = create_experiment(NOON, steps=[[1, 4], [5, 4], [50, 8]])
    lifecycle.hold(experiment, "It has fewer than 20 users a side.", by="guardrail", at=NOON)

    lifecycle.advance(experiment, by="ana", at=NOON + HOUR, note="Only staff uses it.")

    experiment.refresh_from_db()
    assert experiment.overridden_steps == [
        {
            "step": 1,
            "percent": 1,
            "by": "ana",
            "at": (NOON + HOUR).isoformat(),
            "is_tested": False,
            "reason": "It has fewer than 20 users a side.",
            "note": "Only staff uses it.",
        }
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("reason", ["", "Latency of a call: clearly worse than in the control."])
def test_step_with_enough_users_is_kept_only_if_it_waited(reason: str) -> None:
    experiment = create_experiment(NOON, steps=[[1, 4], [50, 8]])
    for arm in ("tools-control", "tools-b"):
        add_users(arm, NOON, failures=[1] * 20)
    while experiment_job.measure(NOON + HOUR):
        pass
    lifecycle.hold(experiment, reason, by="guardrail", at=NOON)

    lifecycle.advance(experiment, by="ana", at=NOON + HOUR)

    experiment.refresh_from_db()
    kept = [(each["is_tested"], each["reason"]) for each in experiment.overridden_steps]
    assert kept == ([(True, reason)] if reason else [])


@pytest.mark.django_db
def test_release_that_is_shipped_before_a_test_says_so_and_a_new_start_does_not() -> None:
    experiment = create_experiment(NOON, steps=[[1, 4], [50, 8]])

    lifecycle.decide(experiment, "ship", "It is urgent.", by="ana", at=NOON + HOUR)

    experiment.refresh_from_db()
    assert [(each["step"], each["is_tested"]) for each in experiment.overridden_steps] == [(1, False)]
    again = lifecycle.start_again(experiment, by="ana", at=NOON + 2 * HOUR)
    assert again.overridden_steps == []
