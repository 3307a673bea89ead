import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.rollout import effects
from analytics.rollout.effects import Move
from analytics.rollout.evaluation import Attribute, Cohort, Operator, Rollout, Rule
from analytics.rollout.facts import Facts
from analytics.rollout.flags import FlagKey

pytestmark = pytest.mark.both_databases

SURFACE = FlagKey.SURFACE
PEOPLE = [Facts(f"user-{n}", environment="dev" if n % 4 == 0 else "production", context="project") for n in range(400)]


def rollout(*cohorts: Cohort) -> Rollout:
    return Rollout({SURFACE: cohorts})


def share(parts: int, variant: str = "gateway", *rules: Rule) -> Cohort:
    return Cohort("some", variant, "some", parts, rules)


def test_who_is_moved_is_counted_by_way_and_context() -> None:
    dev = share(10_000, "gateway", Rule(Attribute.ENVIRONMENT, Operator.IN, ("dev",)))

    effect = effects.of(SURFACE, rollout(), rollout(dev), PEOPLE)

    assert (effect.seen, effect.moved) == (400, 100)
    assert effect.moves == (Move("legacy", "gateway", 100, ("project",)),)


def test_what_changes_nothing_moves_nobody() -> None:
    assert effects.of(SURFACE, rollout(share(500)), rollout(share(500)), PEOPLE).moves == ()
    assert effects.of(SURFACE, rollout(), rollout(), []).seen == 0


@given(low=st.integers(0, 10_000), high=st.integers(0, 10_000))
def test_a_larger_share_moves_those_between_and_nobody_back(low: int, high: int) -> None:
    low, high = sorted((low, high))
    effect = effects.of(SURFACE, rollout(share(low)), rollout(share(high)), PEOPLE)
    there = effects.of(SURFACE, rollout(), rollout(share(high)), PEOPLE).moved
    before = effects.of(SURFACE, rollout(), rollout(share(low)), PEOPLE).moved

    assert {(move.before, move.after) for move in effect.moves} <= {("legacy", "gateway")}
    assert effect.moved == there - before
    assert effects.of(SURFACE, rollout(share(high)), rollout(share(low)), PEOPLE).moved == effect.moved
