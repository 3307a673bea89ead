from hypothesis import given
from hypothesis import strategies as st

from analytics.flags import FlagKey
from analytics.rollout import impact
from analytics.rollout.evaluation import (
    Attribute,
    CohortDefinition,
    EvaluationContext,
    Operator,
    Rollout,
    TargetingRule,
)
from analytics.rollout.impact import RolloutImpact, VariantChange

SURFACE = FlagKey.SURFACE
CONTEXTS = [
    EvaluationContext(f"user-{n}", environment="dev" if n % 4 == 0 else "production", context="project")
    for n in range(400)
]


def build_rollout(*cohorts: CohortDefinition) -> Rollout:
    return Rollout({SURFACE: cohorts})


def build_cohort(parts: int, variant: str = "gateway", *rules: TargetingRule) -> CohortDefinition:
    return CohortDefinition("some", variant, "some", parts, rules)


def test_impact_counts_moved_subjects_by_variants_and_context() -> None:
    dev = build_cohort(10_000, "gateway", TargetingRule(Attribute.ENVIRONMENT, Operator.IN, ("dev",)))

    effect = impact.measure_impact(SURFACE, build_rollout(), build_rollout(dev), CONTEXTS)

    assert (effect.seen, effect.moved_count) == (400, 100)
    assert effect.moves == (VariantChange("legacy", "gateway", 100, ("project",)),)


def test_impact_counts_subjects_that_another_cohort_takes() -> None:
    whole = CohortDefinition("first", "gateway", "first", 10_000)
    second = CohortDefinition("second", "gateway", "second", 10_000)

    widened = impact.measure_impact(SURFACE, build_rollout(second), build_rollout(whole, second), CONTEXTS)
    stopped = impact.measure_impact(SURFACE, build_rollout(whole, second), build_rollout(second), CONTEXTS)

    assert (widened.moves, widened.taken) == ((), {"second": 400})
    assert stopped.taken == {}  # who stops a cohort knows that it loses its users


@given(low=st.integers(0, 10_000), high=st.integers(0, 10_000))
def test_larger_percentage_moves_only_the_added_subjects(low: int, high: int) -> None:
    nobody, smaller, larger = build_rollout(), *(build_rollout(build_cohort(part)) for part in sorted((low, high)))

    def measure(before: Rollout, after: Rollout) -> RolloutImpact:
        return impact.measure_impact(SURFACE, before, after, CONTEXTS)

    added = measure(smaller, larger)
    assert {(move.before, move.after) for move in added.moves} <= {("legacy", "gateway")}
    assert added.moved_count == measure(nobody, larger).moved_count - measure(nobody, smaller).moved_count
    assert measure(larger, smaller).moved_count == added.moved_count
