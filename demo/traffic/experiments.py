"""Two experiments of the demo activity: one that was dropped because it did harm, and one that runs and does better.

Both compare copy on users of their own. Their arms match the client of the activity only, so nobody else is in them.
"""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction

from analytics.events import event_log
from analytics.experiments import lifecycle, results
from analytics.experiments.arm_plans import ArmPlan
from analytics.experiments.metrics import FAILURE_RATE
from analytics.experiments.statistics import choose_tuning
from analytics.flags import FlagKey, Surface
from analytics.rollout.evaluation import BUCKETS, is_within
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Assignment, Cohort, CohortRule, Subject
from analytics.turns.models import ToolSelection
from demo.traffic import compared_copy, turns
from demo.traffic.turns import DemoVariant, TurnGenerator
from registry.releases import stored_releases

BY = "load_demo"
USERS = [f"demo-tester-{number:03}" for number in range(1, 281)]
TURNS_A_USER = 4
SEED = 44
PLAINER, CLEARER = 0, 1  # of the compared releases


class DemoExperiment(NamedTuple):
    """An experiment with live copy as its control: its release, its days before now, and how often calls fail."""

    name: str
    hypothesis: str
    release: int
    first_day: int
    last_day: int
    failure_rate: float
    note: str = ""  # of the decision; without one, it runs


EXPERIMENTS = (
    DemoExperiment(
        "plainer-copy",
        "Shorter summaries cost fewer tokens, and models still know what to send.",
        PLAINER,
        first_day=26,
        last_day=16,
        failure_rate=0.4,
        note="Shorter, but models send wrong dates and states. We keep the longer texts.",
    ),
    DemoExperiment(
        "clearer-copy",
        "If a summary says which ids and dates to send, fewer calls fail.",
        CLEARER,
        first_day=11,
        last_day=0,
        failure_rate=0.03,
    ),
)
CONTROL_FAILURE_RATE = 0.14


def write_events(*, at: datetime) -> list[Experiment]:
    """Create the experiments that do not exist, with the events of their users, for the rollup to count."""
    live = stored_releases.get_live_release()
    if live is None or Experiment.objects.filter(name__in=[each.name for each in EXPERIMENTS]).exists():
        return []
    versions = [live.version, *(each.version for each in compared_copy.get_or_create_releases(live, at))]
    rows = [Subject(subject=user, client=turns.CLIENT, seen_at=at) for user in USERS]
    Subject.objects.bulk_create(rows, ignore_conflicts=True)
    return [_write_experiment(each, versions[0], versions[each.release + 1], at) for each in EXPERIMENTS]


def write_results(experiments: Sequence[Experiment], *, at: datetime) -> None:
    """Store the figures of each day, as the job would have, from what the rollup counted."""
    for experiment in experiments:
        begin = experiment.started_at or at
        for day in range(1, (experiment.get_end(at) - begin).days + 1):
            results.update_results(experiment, begin + timedelta(days=day))
        results.update_results(experiment, experiment.get_end(at))


@transaction.atomic
def _write_experiment(demo: DemoExperiment, control: str, variant: str, at: datetime) -> Experiment:
    begin, end = (at - timedelta(days=days) for days in (demo.first_day, demo.last_day))
    experiment = Experiment(
        name=demo.name,
        hypothesis=demo.hypothesis,
        flag_id=FlagKey.RELEASE,
        owner=BY,
        smallest_effect=40,
        guardrails=[FAILURE_RATE.name] if not demo.note else [],
        signals=["latency"],
        planned_subjects=len(USERS),
        tuning=choose_tuning(len(USERS)),
    )
    plans = [ArmPlan(control), ArmPlan(variant)]
    rule = CohortRule(attribute="client", operator="in", values=[turns.CLIENT])
    lifecycle.create_experiment(experiment, plans, [rule], by=BY, at=begin)
    Experiment.objects.filter(pk=experiment.pk).update(created_at=begin)
    lifecycle.start(experiment, by=BY, at=begin)
    arms = experiment.list_arms()
    rates = (CONTROL_FAILURE_RATE, demo.failure_rate)
    for arm, rate in zip(arms, rates, strict=True):
        _write_turns(Cohort.objects.get(pk=arm.pk), rate, begin, end)
    if demo.note:
        lifecycle.stop(experiment, "Stopped by the team: calls fail more often.", by=BY, at=end)
        lifecycle.decide(experiment, Experiment.Decision.DROP, demo.note, by=BY, at=end)
    experiment.refresh_from_db()
    return experiment


def _write_turns(arm: Cohort, failure_rate: float, begin: datetime, end: datetime) -> None:
    """Write the exposures, the events and the reports of an arm's users, evenly over the time."""
    variant = DemoVariant(
        arm.name, Surface.LEGACY, arm.variant, failure_rate, repair_rate=0.8, unknown_name_rate=0.03, loop_rate=0.004
    )
    rng, writer = random.Random(f"{SEED} {arm.name}"), TurnGenerator(f"{SEED} {arm.name}")
    width = int(arm.percentage * BUCKETS) // 100
    users = [user for user in USERS if is_within(arm.salt, user, width, first=arm.first_bucket)]
    exposures, events, selections = [], [], list[ToolSelection]()
    for user in users:
        first = begin + (end - begin) * rng.uniform(0.01, 0.8)
        shared = {"flag": FlagKey.RELEASE, "variant": arm.variant, "cohort": arm.name}
        exposures.append(Assignment(subject=user, time=first, **shared))
        for _ in range(TURNS_A_USER):
            of_turn, selection = writer.generate_turn(user, variant, first + (end - first) * rng.uniform(0.001, 0.98))
            selection.missed, selection.escalated = [], []  # else a fresh demo would begin with an alert on misses
            events += of_turn
            selections.append(selection)
    Assignment.objects.bulk_create(exposures, ignore_conflicts=True)
    event_log.write_events(events)
    ToolSelection.objects.bulk_create(selections, batch_size=500)
