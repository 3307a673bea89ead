"""The plan of an experiment in words, and the effect of starting it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from analytics.experiments import metric_text, planning
from analytics.experiments.arm_plans import ArmPlan, divide_share
from analytics.experiments.metrics import METRICS
from analytics.experiments.planning import HISTORY_DAYS, ExperimentPlan
from analytics.flags import FlagKey
from analytics.rollout import impact
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import CohortRule
from console.rollout import experiment_form, impact_text

LONG = 365  # days from which a plan only says that it takes too long


class PlannedExperiment(NamedTuple):
    """What the form says of an unsaved experiment, the arms and the rules of its audience."""

    experiment: Experiment
    arms: Sequence[ArmPlan]
    rules: Sequence[CohortRule]


def describe_plan(planned: PlannedExperiment, at: datetime) -> list[str]:
    """Return how long the experiment takes and what it cannot find, in sentences, the most important first."""
    experiment = planned.experiment
    plan = planning.plan_experiment(experiment, planned.arms, planned.rules, at)
    metric, title = METRICS[experiment.primary_metric], METRICS[experiment.primary_metric].title
    if not plan.reach:
        return ["Nobody would get into it: earlier cohorts take all users who match, or nobody does."]
    if not plan.users_in_history:
        return ["Nobody made calls in the last four weeks, so nothing can be planned."]
    coming = (
        f"It gets about {_count(plan.users_a_day)} within a day, {plan.users_a_week:,} within a week and "
        f"{plan.users_in_history:,} within {HISTORY_DAYS} days."
    )
    if plan.level is None:
        return [f"{title} has no figures in the last four weeks, so its time is unknown.", coming]
    now = f"{title} is {metric_text.format_value(metric, plan.level)} now."
    if plan.needed is None:
        return [f"{now} A change of it in percent cannot be planned.", coming]
    change = plan.level * experiment.smallest_effect / 100
    ends = (metric_text.format_value(metric, plan.level + sign * change) for sign in (-1, 1))
    lines = [_describe_days(plan), f"{now} It finds {' or '.join(ends)} in four of five such experiments."]
    lines.append(f"It needs {_count(plan.needed)}. {coming}")
    if plan.detectable is None:
        lines.append(f"Within {HISTORY_DAYS} days it gets too few users for any test.")
    else:
        lines.append(f"Within {HISTORY_DAYS} days it cannot find a change below {_format_percent(plan.detectable)}.")
    return lines


def describe_start(planned: PlannedExperiment, at: datetime) -> list[str]:
    """Return whom starting the experiment moves to which variant, in sentences."""
    experiment, plans = planned.experiment, planned.arms
    arms = experiment_form.build_arms(experiment, plans)
    for arm, (begin, percentage) in zip(arms, divide_share(experiment.share, plans), strict=True):
        arm.is_on, arm.first_bucket, arm.percentage = True, begin, percentage
    after = impact.apply_cohorts(arms, planned.rules)
    lines = impact_text.describe_impact(impact_text.compute_impact(FlagKey(experiment.flag_id), after, at=at))
    if len({arm.variant for arm in plans}) == 1:
        lines.append("All arms get the same: an A/A test. It should find no difference.")
    return lines


def _describe_days(plan: ExperimentPlan) -> str:
    if plan.days is None or plan.days > LONG:
        return "More than a year. Choose a larger effect, a larger share, or another metric."
    days = f"About {plan.days} day{'' if plan.days == 1 else 's'}"
    if plan.days > HISTORY_DAYS:
        return f"{days}. Choose a larger effect, a larger share, or another metric to need less."
    return f"{days} for an 80% chance to find the smallest effect."


def _format_percent(value: float) -> str:
    return f"{value:.0f}%" if value >= 10 else f"{value:.1f}%"


def _count(users: int) -> str:
    return f"{users:,} user{'' if users == 1 else 's'}"
