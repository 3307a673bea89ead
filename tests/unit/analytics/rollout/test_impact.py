import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.rollout import impact
from analytics.rollout.evaluation import Attribute, CohortDefinition, Operator, Rollout, TargetingRule
from analytics.rollout.evaluation_context import EvaluationContext
from analytics.rollout.flags import FlagKey
from analytics.rollout.impact import VariantChange

pytestmark = pytest.mark.both_databases

SURFACE = FlagKey.SURFACE
PEOPLE = [
    EvaluationContext(f"user-{n}", environment="dev" if n % 4 == 0 else "production", context="project")
    for n in range(400)
]


def rollout(*cohorts: CohortDefinition) -> Rollout:
    return Rollout({SURFACE: cohorts})


def share(parts: int, variant: str = "gateway", *rules: TargetingRule) -> CohortDefinition:
    return CohortDefinition("some", variant, "some", parts, rules)


def test_who_is_moved_is_counted_by_way_and_context() -> None:
    dev = share(10_000, "gateway", TargetingRule(Attribute.ENVIRONMENT, Operator.IN, ("dev",)))

    effect = impact.measure_impact(SURFACE, rollout(), rollout(dev), PEOPLE)

    assert (effect.seen, effect.moved_count) == (400, 100)
    assert effect.moves == (VariantChange("legacy", "gateway", 100, ("project",)),)


def test_what_changes_nothing_moves_nobody() -> None:
    assert impact.measure_impact(SURFACE, rollout(share(500)), rollout(share(500)), PEOPLE).moves == ()
    assert impact.measure_impact(SURFACE, rollout(), rollout(), []).seen == 0


@given(low=st.integers(0, 10_000), high=st.integers(0, 10_000))
def test_a_larger_share_moves_those_between_and_nobody_back(low: int, high: int) -> None:
    low, high = sorted((low, high))
    effect = impact.measure_impact(SURFACE, rollout(share(low)), rollout(share(high)), PEOPLE)
    there = impact.measure_impact(SURFACE, rollout(), rollout(share(high)), PEOPLE).moved_count
    before = impact.measure_impact(SURFACE, rollout(), rollout(share(low)), PEOPLE).moved_count

    assert {(move.before, move.after) for move in effect.moves} <= {("legacy", "gateway")}
    assert effect.moved_count == there - before
    assert (
        impact.measure_impact(SURFACE, rollout(share(high)), rollout(share(low)), PEOPLE).moved_count
        == effect.moved_count
    )
