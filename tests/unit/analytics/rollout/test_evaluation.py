"""Evaluating flags: which cohort decides, and the reason."""

from dataclasses import replace
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from analytics.flags import FLAGS, LIVE, FlagKey, Surface
from analytics.rollout import evaluation
from analytics.rollout.evaluation import (
    Attribute,
    CohortDefinition,
    EvaluationContext,
    Operator,
    Reason,
    Rollout,
    TargetingRule,
    get_model_family,
    join_cohort_names,
)

ANA = EvaluationContext(
    subject="ana",
    client="chat",
    environment="dev",
    context="project",
    model="anthropic/claude-sonnet-4-5",
    traits={"plan": "pro", "age_days": 40, "beta": True},
)


def build_cohort(name: str = "dev-team", variant: str = Surface.GATEWAY, **fields: Any) -> CohortDefinition:
    return CohortDefinition(name, variant, salt=name, **fields)


def evaluate(*cohorts: CohortDefinition, context: EvaluationContext = ANA, is_on: bool = True) -> tuple[str, str, str]:
    details = Rollout({FlagKey.SURFACE: cohorts}).evaluate(FlagKey.SURFACE, context, is_on=is_on)
    return details.variant, details.cohort, details.reason


@pytest.mark.parametrize("flag", list(FlagKey))
def test_flag_without_a_cohort_has_its_default(flag: FlagKey) -> None:
    details = Rollout().evaluate(flag, ANA)

    assert (details.variant, details.cohort, details.reason) == (FLAGS[flag].default, "", Reason.DEFAULT)
    assert {FlagKey.SURFACE: "legacy", FlagKey.RELEASE: "live", FlagKey.SELECTION: "static"}[flag] == details.variant


@pytest.mark.parametrize(
    ("url", "fast_model", "expected"),
    [("http://llm.test/v1", "small", "dynamic"), ("http://llm.test/v1", "", "static"), ("", "small", "static")],
)
def test_a_fast_model_selects_tools_unless_a_cohort_says_otherwise(
    settings: Settings, url: str, fast_model: str, expected: str
) -> None:
    settings.LLM_BASE_URL, settings.LLM_FAST_MODEL = url, fast_model
    flag, cohort = FlagKey.SELECTION, build_cohort("all", "static", buckets=10_000)

    assert Rollout().evaluate(flag, ANA).variant == expected
    assert Rollout().evaluate(flag, ANA, is_on=False).variant == expected
    assert Rollout({flag: [cohort]}).evaluate(flag, ANA).variant == "static"


def test_master_switch_overrides_every_cohort() -> None:
    assert evaluate(build_cohort(listed=frozenset(["ana"])), is_on=False) == ("legacy", "", "DISABLED")


def test_first_matching_cohort_decides() -> None:
    first, second = build_cohort("first", "legacy"), build_cohort("second")

    assert evaluate(first, second) == ("legacy", "first", "TARGETING_MATCH")
    assert evaluate(replace(first, buckets=0), second) == ("gateway", "second", "TARGETING_MATCH")


@pytest.mark.parametrize(
    ("attribute", "operator", "values", "trait", "expected"),
    [
        ("subject", "starts", ("test-", "an"), "", True),
        ("subject", "starts", ("ben",), "", False),
        ("client", "not_in", ("chat",), "", False),
        ("environment", "in", ("dev",), "", True),
        ("context", "in", ("project",), "", True),
        ("project", "not_in", ("7",), "", True),
        ("model_family", "in", ("claude",), "", True),
        ("trait", "in", ("pro",), "plan", True),
        ("trait", "in", ("true",), "beta", True),
        ("trait", "at_least", ("30",), "age_days", True),
        ("trait", "at_most", ("30",), "age_days", False),
        ("trait", "in", ("pro",), "unknown", False),
        ("trait", "not_in", ("pro",), "unknown", True),
    ],
)
def test_rule_matches_by_attribute_and_operator(
    attribute: str, operator: str, values: tuple[str, ...], trait: str, expected: bool
) -> None:
    assert TargetingRule(Attribute(attribute), Operator(operator), values, trait).matches(ANA) is expected


def test_all_rules_must_match() -> None:
    rules = (
        TargetingRule(Attribute.ENVIRONMENT, Operator.IN, ("dev",)),
        TargetingRule(Attribute.CLIENT, Operator.IN, ("other",)),
    )

    assert evaluate(build_cohort(rules=rules[:1]))[0] == "gateway"
    assert evaluate(build_cohort(rules=rules))[0] == "legacy"


def test_listed_subject_matches_regardless_of_rules() -> None:
    closed_cohort = build_cohort(
        buckets=0, rules=(TargetingRule(Attribute.CLIENT, Operator.IN, ("other",)),), listed=frozenset(["ana"])
    )

    assert evaluate(closed_cohort) == ("gateway", "dev-team", "TARGETING_MATCH")
    assert evaluate(closed_cohort, context=replace(ANA, subject="ben"))[0] == "legacy"


def test_anonymous_subject_never_matches_a_percentage() -> None:
    anonymous = replace(ANA, subject="")

    assert evaluate(build_cohort(buckets=9_999), context=anonymous)[0] == "legacy"
    assert evaluate(build_cohort(buckets=evaluation.BUCKETS), context=anonymous)[0] == "gateway"


def test_second_percentage_applies_to_the_remaining_subjects() -> None:
    subjects = [replace(ANA, subject=f"user-{number}") for number in range(20_000)]
    both = (build_cohort("first", buckets=5_000), build_cohort("second", buckets=5_000))

    second = sum(evaluate(*both, context=context)[1] == "second" for context in subjects)

    assert abs(second - 5_000) < 400


def test_cohort_names_are_joined_for_events() -> None:
    rollout = Rollout({FlagKey.SURFACE: [build_cohort()], FlagKey.RELEASE: [build_cohort("copy-b", LIVE)]})

    assert join_cohort_names(rollout.evaluate(flag, ANA) for flag in FlagKey) == "dev-team copy-b"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("gpt-4o-mini", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("anthropic/claude-sonnet-4-5", "claude"),
        ("meta-llama/Llama-3.1-70B", "llama"),
        ("deepseek-chat", "deepseek"),
        ("", ""),
        ("007", ""),
    ],
)
def test_model_family_is_derived_from_the_model_name(model: str, expected: str) -> None:
    assert get_model_family(model) == expected
