"""Which cohort decides, and why."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.rollout import bucketing
from analytics.rollout.evaluation import (
    Attribute,
    CohortDefinition,
    Operator,
    Reason,
    Rollout,
    TargetingRule,
    join_cohort_names,
)
from analytics.rollout.evaluation_context import EvaluationContext
from analytics.rollout.flags import FLAGS, LIVE, FlagKey, Surface

ANA = EvaluationContext(
    subject="ana",
    client="chat",
    environment="dev",
    context="project",
    model="anthropic/claude-sonnet-4-5",
    traits={"plan": "pro", "age_days": 40, "beta": True},
)


def cohort(name: str = "dev-team", variant: str = Surface.GATEWAY, **fields: Any) -> CohortDefinition:
    return CohortDefinition(name, variant, salt=name, **fields)


def evaluate(*cohorts: CohortDefinition, facts: EvaluationContext = ANA, is_on: bool = True) -> tuple[str, str, str]:
    outcome = Rollout({FlagKey.SURFACE: cohorts}).evaluate(FlagKey.SURFACE, facts, is_on=is_on)
    return outcome.variant, outcome.cohort, outcome.reason


@pytest.mark.parametrize("flag", list(FlagKey))
def test_without_a_cohort_a_flag_says_its_default(flag: FlagKey) -> None:
    outcome = Rollout().evaluate(flag, ANA)

    assert (outcome.variant, outcome.cohort, outcome.reason) == (FLAGS[flag].default, "", Reason.DEFAULT)
    assert {FlagKey.SURFACE: "legacy", FlagKey.RELEASE: "live", FlagKey.SELECTION: "static"}[flag] == outcome.variant


def test_the_master_switch_goes_before_every_cohort() -> None:
    assert evaluate(cohort(listed=frozenset(["ana"])), is_on=False) == ("legacy", "", "DISABLED")


def test_the_first_cohort_that_a_subject_belongs_to_decides() -> None:
    first, second = cohort("first", "legacy"), cohort("second")

    assert evaluate(first, second) == ("legacy", "first", "TARGETING_MATCH")
    assert evaluate(replace(first, buckets=0), second) == ("gateway", "second", "TARGETING_MATCH")


@pytest.mark.parametrize(
    ("attribute", "operator", "values", "trait", "holds"),
    [
        ("subject", "in", ("ana", "ben"), "", True),
        ("subject", "starts", ("test-", "an"), "", True),
        ("subject", "starts", ("ben",), "", False),
        ("client", "not_in", ("chat",), "", False),
        ("environment", "in", ("dev",), "", True),
        ("environment", "in", ("production",), "", False),
        ("context", "in", ("project",), "", True),
        ("project", "in", ("7",), "", False),
        ("project", "not_in", ("7",), "", True),
        ("model_family", "in", ("claude",), "", True),
        ("trait", "in", ("pro",), "plan", True),
        ("trait", "in", ("true",), "beta", True),
        ("trait", "at_least", ("30",), "age_days", True),
        ("trait", "at_most", ("30",), "age_days", False),
        ("trait", "at_least", ("30",), "plan", False),
        ("trait", "in", ("pro",), "unknown", False),
        ("trait", "not_in", ("pro",), "unknown", True),
    ],
)
def test_a_rule_holds_for_what_it_says(
    attribute: str, operator: str, values: tuple[str, ...], trait: str, holds: bool
) -> None:
    assert TargetingRule(Attribute(attribute), Operator(operator), values, trait).matches(ANA) is holds


def test_all_rules_have_to_hold() -> None:
    rules = (
        TargetingRule(Attribute.ENVIRONMENT, Operator.IN, ("dev",)),
        TargetingRule(Attribute.CLIENT, Operator.IN, ("other",)),
    )

    assert evaluate(cohort(rules=rules[:1]))[0] == "gateway"
    assert evaluate(cohort(rules=rules))[0] == "legacy"


def test_who_is_listed_is_in_whatever_the_rules_say() -> None:
    closed = cohort(
        buckets=0, rules=(TargetingRule(Attribute.CLIENT, Operator.IN, ("other",)),), listed=frozenset(["ana"])
    )

    assert evaluate(closed) == ("gateway", "dev-team", "TARGETING_MATCH")
    assert evaluate(closed, facts=replace(ANA, subject="ben"))[0] == "legacy"


def test_nobody_unknown_is_within_a_percentage() -> None:
    nobody = replace(ANA, subject="")

    assert evaluate(cohort(buckets=9_999), facts=nobody)[0] == "legacy"
    assert evaluate(cohort(buckets=bucketing.BUCKETS), facts=nobody)[0] == "gateway"


def test_the_second_percentage_is_of_the_rest() -> None:
    subjects = [replace(ANA, subject=f"user-{number}") for number in range(20_000)]
    both = (cohort("first", buckets=5_000), cohort("second", buckets=5_000))

    second = sum(evaluate(*both, facts=facts)[1] == "second" for facts in subjects)

    assert abs(second - 5_000) < 400


@given(st.text(min_size=1, max_size=30), st.integers(0, 10_000), st.integers(0, 10_000))
def test_growing_one_flag_moves_nobody_out_and_no_other_flag(subject: str, one: int, other: int) -> None:
    smaller, larger = sorted((one, other))
    facts = replace(ANA, subject=subject)

    def outcomes(buckets: int) -> tuple[str, str]:
        rollout = Rollout(
            {
                FlagKey.SURFACE: [cohort("share", buckets=buckets)],
                FlagKey.RELEASE: [cohort("copy-b", "0" * 64, buckets=5_000)],
            }
        )
        return tuple(rollout.evaluate(flag, facts).variant for flag in (FlagKey.SURFACE, FlagKey.RELEASE))  # type: ignore[return-value]

    (before, release), (after, same) = outcomes(smaller), outcomes(larger)
    assert after == Surface.GATEWAY or before == Surface.LEGACY
    assert release == same


def test_events_are_told_the_cohorts_that_decided() -> None:
    rollout = Rollout({FlagKey.SURFACE: [cohort()], FlagKey.RELEASE: [cohort("copy-b", LIVE)]})

    assert join_cohort_names(rollout.evaluate(flag, ANA) for flag in FlagKey) == "dev-team copy-b"
