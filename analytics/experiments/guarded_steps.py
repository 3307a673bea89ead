"""Plan what goes step by step: an experiment of two arms, what is now and what is new, for a release or any cohort.

The new arm's share grows with each step, and an equal control stays beside it. See `experiment_job` for what happens by
itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.text import get_text_list

from analytics.experiments import lifecycle
from analytics.experiments.arm_plans import DEFAULT_STEPS, EXAMPLE_STEPS, MAX_STEP_PERCENT, ArmPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.experiments.metrics import FAILURE_RATE
from analytics.flags import FLAGS, FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort
from audit import audit_log

# Each is a guardrail, which takes the release back, or a signal, which holds the next step.
WATCHED = (FAILURE_RATE.name, "invalid_rate", "unknown_names", "help_per_call", "miss_rate", "loop_rate", "latency")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
Steps = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class GuardedPlan:
    """The name of the experiment, its steps (percent, and hours), and which of WATCHED take it back."""

    name: str
    steps: Steps
    guardrails: Sequence[str] = (FAILURE_RATE.name,)

    def build_experiment(self, flag: str, *, by: str, note: str = "") -> Experiment:
        """Return the unsaved experiment."""
        return Experiment(
            name=self.name,
            flag_id=flag,
            owner=by,
            hypothesis=note,
            steps=[list(step) for step in self.steps],
            guardrails=list(self.guardrails),
            signals=[name for name in WATCHED if name not in self.guardrails],
        )


def load_template(flag: str) -> GuardedPlan:
    """Return the steps and guardrails that were used last on a flag, for the next plan to start with."""
    latest = Experiment.objects.filter(flag=flag).exclude(steps=[]).order_by("-id").first()
    return GuardedPlan("", latest.steps, tuple(latest.guardrails)) if latest else GuardedPlan("", DEFAULT_STEPS)


def parse_steps(text: str) -> list[list[float]]:
    """Return the steps of a text such as "1:4, 5:4" or "1% 4 h, 5% 4 h". Raises ExperimentRefused."""
    steps = [[float(number) for number in _NUMBER.findall(part)] for part in text.split(",") if part.strip()]
    if not steps or any(len(step) != 2 for step in steps):
        raise ExperimentRefused(f"Give the percent and the hours of each step, such as {EXAMPLE_STEPS}.")
    return steps


def format_steps(steps: Steps) -> str:
    """Return steps as a text that `parse_steps` reads: "1% 4 h, 5% 4 h"."""
    return ", ".join(f"{percent:g}% {hours:g} h" for percent, hours in steps)


@transaction.atomic
def widen_cohort(cohort: Cohort, plan: GuardedPlan, *, by: str, at: datetime) -> Experiment:
    """Start to widen a cohort step by step, and return the experiment, whose new arm begins with the cohort's users.

    The cohort itself keeps only its listed users; without any it is switched off. Raises ExperimentRefused and
    ValidationError.
    """
    cohort = Cohort.objects.select_for_update(of=("self",)).select_related("flag").get(pk=cohort.pk)
    _check_widenable(cohort, plan)
    default = FLAGS[FlagKey(cohort.flag_id)].default
    experiment = plan.build_experiment(cohort.flag_id, by=by, note=cohort.note)
    arms = [ArmPlan(default), ArmPlan(cohort.variant)]
    lifecycle.create_experiment(experiment, arms, list(cohort.rules.all()), by=by, at=at)
    experiment.arms.update(salt=cohort.salt)  # so that its users are the first of the new arm
    before = cohort.list_audit_values()
    cohort.is_on, cohort.percentage = bool(cohort.listed), 0
    cohort.save(update_fields=["is_on", "percentage"])
    note = f"Widened step by step by the experiment {experiment.name}"
    audit_log.record_change("cohort", cohort.name, before, cohort.list_audit_values(), by=by, at=at, note=note)
    lifecycle.start(experiment, by=by, at=at)
    experiment.refresh_from_db()
    return experiment


def explain_not_widenable(cohort: Cohort) -> str:
    """Return why a cohort cannot be widened step by step; "" if it can."""
    if cohort.flag_id not in set(FlagKey):
        return "Its flag is no longer declared."
    if cohort.experiment_id:
        return f"It is an arm of the experiment {cohort.experiment}."
    if not cohort.is_on:
        return "It is off. Start it first."
    if cohort.variant == FLAGS[FlagKey(cohort.flag_id)].default:
        return "Its users get what everyone else gets, so there is nothing to widen."
    if cohort.percentage >= MAX_STEP_PERCENT:
        return f"It is at {float(cohort.percentage):g}%, so too few users are left for an equal control."
    later = Cohort.objects.filter(flag=cohort.flag, is_on=True, position__gt=cohort.position).values_list(
        "name", flat=True
    )
    if later:
        names = get_text_list(list(later), "and")
        return f"Later cohorts ({names}) decide for its other users: there is no equal control. Move it behind them."
    return ""


def _check_widenable(cohort: Cohort, plan: GuardedPlan) -> None:
    problem = explain_not_widenable(cohort)
    if not problem and plan.steps and plan.steps[0][0] < cohort.percentage:
        problem = f"It is at {float(cohort.percentage):g}% already. Begin with at least that."
    if problem:
        raise ExperimentRefused(problem)
