"""The plan of an experiment: users that come, days until its smallest effect is found, and what stays hidden."""

from collections.abc import Sequence
from datetime import timedelta
from math import sqrt
from random import Random
from typing import Any

import pytest

from analytics.experiments import planning
from analytics.experiments.arm_plans import ArmPlan
from analytics.experiments.planning import ArrivalCurve, ExperimentPlan, find_needed_subjects
from analytics.experiments.statistics import ArmMoments, MetricKind, MetricTest, compare_arms
from analytics.flags import FlagKey
from analytics.rollout.experiments import Experiment
from analytics.rollout.models import Cohort, CohortRule, Subject
from analytics.rollups.models import SubjectFigures
from tests.support.rows.analytics_rows import NOON

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
ARMS = [ArmPlan("legacy"), ArmPlan("hybrid")]


def add_history(*, users_a_day: int, days: int = 28, failed: int = 2, calls: int = 10) -> None:
    """Add users who come once: half of them fail in `failed` calls, the others in none."""
    midnight = NOON.replace(hour=0)
    SubjectFigures.objects.bulk_create(
        SubjectFigures(
            begin=midnight - day * DAY,
            subject=f"user-{day}-{number}",
            calls=calls,
            failed=failed * (number % 2),
            is_settled=True,
        )
        for day in range(days)
        for number in range(users_a_day)
    )


def plan(rules: Sequence[CohortRule] = (), arms: Sequence[ArmPlan] = ARMS, **fields: Any) -> ExperimentPlan:
    experiment = Experiment(**{"name": "tools", "flag_id": FlagKey.SURFACE} | fields)
    return planning.plan_experiment(experiment, arms, rules, NOON)


def test_plan_says_how_many_users_come_and_how_long_it_takes() -> None:
    add_history(users_a_day=50)

    result = plan(smallest_effect=20)

    assert (result.users_a_day, result.users_a_week, result.users_in_history) == (50, 350, 1_400)
    assert result.level == pytest.approx(0.1)
    assert result.needed is not None
    assert result.days == -(-result.needed // 50)
    assert result.planned_subjects == result.needed  # also if fewer come within four weeks


def test_users_who_come_again_count_once() -> None:
    for days_ago in range(7):
        row = {"begin": NOON.replace(hour=0) - days_ago * DAY, "calls": 1, "is_settled": True}
        SubjectFigures.objects.create(subject="ana", **row)
        SubjectFigures.objects.create(subject=f"user-{days_ago}", **row)

    result = plan()

    assert (result.users_a_day, result.users_a_week) == (2, 8)


def test_share_audience_and_earlier_cohorts_leave_fewer_users() -> None:
    add_history(users_a_day=40)
    Subject.objects.bulk_create(
        Subject(subject=f"user-{number}", environment="dev" if number % 4 == 0 else "production", seen_at=NOON)
        for number in range(400)
    )
    dev = CohortRule(attribute="environment", values=["dev"])

    assert plan().users_a_week == 280
    assert plan(share=50).users_a_week == 140
    assert plan([dev]).users_a_week == 70
    Cohort.objects.create(name="first", flag_id=FlagKey.SURFACE, variant="gateway", percentage=100)
    assert plan().users_a_week == 0


def test_smaller_effect_needs_more_users_and_more_days() -> None:
    add_history(users_a_day=400)

    coarse, fine = plan(smallest_effect=40), plan(smallest_effect=20)

    assert 3 < (fine.needed or 0) / (coarse.needed or 1) < 5
    assert (fine.days or 0) > (coarse.days or 0)


def test_plan_names_the_effect_that_four_weeks_find() -> None:
    add_history(users_a_day=50)

    result = plan(smallest_effect=5)

    assert (result.days or 0) > 28
    assert result.detectable == pytest.approx(plan(smallest_effect=20).detectable)
    assert (result.detectable or 0) > 5
    again = plan(smallest_effect=(result.detectable or 0) * 1.01)
    assert 1_300 < (again.needed or 0) <= 1_400


def test_gateway_without_history_plans_nothing() -> None:
    result = plan()

    assert (result.needed, result.days, result.detectable, result.level) == (None, None, None, None)
    assert (result.call_limit, result.tuning, result.planned_subjects) == (10, 400, 0)


def test_metric_that_nobody_has_is_not_planned() -> None:
    add_history(users_a_day=50)

    result = plan(primary_metric="thumbs_up")

    assert (result.users_a_week, result.level, result.needed) == (350, None, None)
    assert (result.planned_subjects, result.tuning) == (0, 2_800)


def test_call_limit_is_above_the_calls_of_most_users() -> None:
    add_history(users_a_day=39, calls=30)
    SubjectFigures.objects.bulk_create(
        SubjectFigures(begin=NOON.replace(hour=0) - day * DAY, subject=f"heavy-{day}", calls=5_000, is_settled=True)
        for day in range(28)
    )

    assert plan().call_limit == 30


def test_tuning_is_twice_the_planned_users_of_the_two_arms_that_are_compared() -> None:
    add_history(users_a_day=500, days=7)

    two, four = plan(smallest_effect=5), plan(arms=[*ARMS, *ARMS], smallest_effect=5)

    coming = [min(each.planned_subjects, each.users_in_history) for each in (two, four)]
    assert two.tuning == 2 * coming[0]
    assert four.tuning == pytest.approx(coming[1], abs=2)


@pytest.mark.parametrize("weights", [(1, 1), (9, 1)])
def test_planned_number_of_users_finds_the_effect_in_four_of_five_experiments(weights: tuple[int, int]) -> None:
    rate, effect, random = 0.55, 0.1, Random(4)
    spread = rate * (1 - rate)
    needed = find_needed_subjects(spread, effect, weights, alpha=0.05)
    sizes = [round(needed * weight / sum(weights)) for weight in weights]
    test = MetricTest(MetricKind.RATIO, lower_is_better=True, tuning=max(2 * needed, 400))

    found, runs = 0, 300
    for _ in range(runs):
        control, arm = (
            ArmMoments.of_pairs([[random.random() < chance, 1] for _ in range(size)])
            for size, chance in zip(sizes, (rate, rate - effect), strict=True)
        )
        found += compare_arms(control, arm, test).verdict == "better"

    assert found / runs == pytest.approx(0.8, abs=4 * sqrt(0.8 * 0.2 / runs))


def test_users_after_the_history_come_as_in_its_last_days() -> None:
    curve = ArrivalCurve((100, 120, 140))

    assert [curve.count_users(days) for days in (0, 1, 3, 5)] == [0, 100, 140, 180]
    assert [curve.find_days(users) for users in (50, 120, 141, 200)] == [1, 2, 4, 6]
    assert ArrivalCurve((100, 100)).find_days(101) is None
