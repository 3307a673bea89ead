"""Release the draft step by step: more and more users read it, and it is taken back by itself if it does harm."""

from collections.abc import Collection
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction

from analytics.experiments import lifecycle
from analytics.experiments.arm_plans import ArmPlan, check_plan
from analytics.experiments.guarded_steps import GuardedPlan
from analytics.experiments.lifecycle import ExperimentRefused
from analytics.flags import LIVE, FlagKey
from analytics.rollout.experiments import Experiment
from registry.models import Release
from registry.releases import stored_releases
from registry.releases.stored_releases import EntryKey
from registry.reviews import approval, cohort_release


def release_draft_step_by_step(
    plan: GuardedPlan,
    *,
    note: str,
    by: str,
    at: datetime,
    accepted: str = "",
    seen: str = "",
    accepted_loss: str = "",
    only: Collection[EntryKey] | None = None,
) -> tuple[Release, Experiment]:
    """Freeze the draft and start a guarded experiment with it, beside an equal control on the live release.

    See `cohort_release.release_draft_to_cohort` for the other arguments and errors. Also raises ExperimentRefused.
    """
    checked = approval.check_selection(by, seen=seen, only=only)
    experiment = plan.build_experiment(FlagKey.RELEASE, by=by, note=note)
    _check_plan(experiment)

    def start(release: Release) -> Experiment:
        arms = [ArmPlan(LIVE), ArmPlan(release.version)]
        lifecycle.start(lifecycle.create_experiment(experiment, arms, by=by, at=at), by=by, at=at)
        experiment.refresh_from_db()
        return experiment

    return cohort_release.release_checked(
        checked,
        start,
        reader="experiment",
        note=note,
        by=by,
        at=at,
        accepted=accepted,
        accepted_loss=accepted_loss,
    )


def suggest_name() -> str:
    """Return a name for the next experiment, by the number that its release gets: "r13-steps"."""
    base = name = f"r{stored_releases.get_next_number()}-steps"
    count = 1
    while Experiment.objects.filter(name=name).exists():
        count += 1
        name = f"{base}-{count}"
    return name


def find_latest(release: Release) -> Experiment | None:
    """Return the experiment that released this one step by step last; None without one."""
    experiments = Experiment.objects.filter(flag=FlagKey.RELEASE, arms__variant=release.version)
    return experiments.exclude(steps=[]).order_by("-id").first()


def list_running() -> list[Experiment]:
    """Return the experiments that end when another release goes live, because they compare with the live one."""
    running = Experiment.objects.filter(flag=FlagKey.RELEASE, state=Experiment.State.RUNNING)
    return list(running.filter(arms__variant=LIVE).distinct())


def _check_plan(experiment: Experiment) -> None:
    """Raise ExperimentRefused for a plan that cannot work, before the draft is frozen."""
    try:
        check_plan(experiment, [ArmPlan(LIVE), ArmPlan(LIVE)])
    except ValidationError as error:
        raise ExperimentRefused(" ".join(error.messages)) from None
    with transaction.atomic():
        lifecycle.check_startable(experiment)
