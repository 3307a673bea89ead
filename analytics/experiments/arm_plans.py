"""The plan of an experiment: its arms, its steps, and what cannot work."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.core.exceptions import ValidationError

from analytics.experiments.metrics import METRICS
from analytics.flags import FLAGS, FlagKey
from analytics.rollout.evaluation import BUCKETS
from analytics.rollout.experiments import MAX_STEP_HOURS, Experiment
from analytics.rollout.models import Cohort

CONTROL = "control"
LETTERS = "bcdefgh"  # of the further arms
DEFAULT_STEPS = [[1, 4], [5, 4], [25, 8], [50, 8]]  # percent, and hours
EXAMPLE_STEPS = "1% 4 h, 5% 4 h, 25% 8 h, 50% 8 h"
MIN_STEP_PERCENT = 100 / BUCKETS
MAX_STEP_PERCENT = 50  # more leaves too few users for an equal control


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """An arm: what its users get, and its part of them beside the other arms."""

    variant: str
    weight: int = 1


def name_arms(experiment: str, number: int) -> list[str]:
    """Return the names of the cohorts that are the arms, the control first."""
    return [f"{experiment}-{ending}" for ending in (CONTROL, *LETTERS)[:number]]


def divide_share(share: Decimal, arms: Sequence[ArmPlan | Cohort]) -> list[tuple[int, Decimal]]:
    """Return the first bucket and the percentage of each arm: beside each other, by their weights."""
    total, whole, weights, begin, places = int(share * 100), sum(arm.weight for arm in arms), 0, 0, []
    for arm in arms:
        weights += arm.weight
        end = total * weights // whole
        places.append((begin, Decimal(end - begin) / 100))
        begin = end
    return places


def check_plan(experiment: Experiment, arms: Sequence[ArmPlan]) -> None:
    """Raise ValidationError if an unsaved experiment cannot work with these arms."""
    experiment.full_clean()
    flag, problems = FlagKey(experiment.flag_id), dict[str, str]()
    if not 2 <= len(arms) <= len(LETTERS) + 1:
        problems["arms"] = f"Give 2 to {len(LETTERS) + 1} arms, the control first."
    if unknown := [arm.variant for arm in arms if not FLAGS[flag].accepts(arm.variant)]:
        problems["arms"] = f"{FLAGS[flag].title} has no variant {unknown[0]}."
    if experiment.primary_metric not in METRICS:
        problems["primary_metric"] = f"Choose one of {', '.join(METRICS)}."
    for field in ("guardrails", "signals"):
        if unknown := [name for name in getattr(experiment, field) if name not in METRICS]:
            problems[field] = f"There is no metric {unknown[0]}. Choose from {', '.join(METRICS)}."
    if experiment.steps:
        problems |= _check_steps(experiment.steps, len(arms))
    if problems:
        raise ValidationError(problems)


def _check_steps(steps: object, arms: int) -> dict[str, str]:
    example = f"such as {EXAMPLE_STEPS}"
    if not isinstance(steps, list) or not all(
        isinstance(step, list) and len(step) == 2 and all(type(number) in (int, float) for number in step)
        for step in steps
    ):
        return {"steps": f"Give percent and hours of each step, {example}."}
    percents = [step[0] for step in steps]
    if percents != sorted(set(percents)) or not percents[0] >= MIN_STEP_PERCENT or percents[-1] > MAX_STEP_PERCENT:
        return {"steps": f"Percents must grow, from {MIN_STEP_PERCENT} to at most {MAX_STEP_PERCENT}, {example}."}
    if not all(0 < hours <= MAX_STEP_HOURS for _, hours in steps):
        return {"steps": f"A step takes up to {MAX_STEP_HOURS} hours, {example}."}
    return {} if arms == 2 else {"steps": "Steps need two arms: the control, and what is new."}
