"""The cost of a validation is estimated first: ordinary instances get all errors, costly ones one sentence."""

import gc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.jsonschema import validation_cost, validator
from registry.jsonschema.validation_cost import CostMeter
from registry.jsonschema.validator import SchemaValidator
from tests.support.rows.op_entries import build_schema

ITEMS = build_schema(tasks={"type": "array", "items": {"type": "object", "properties": {"title": {"type": "string"}}}})
CHOICES = build_schema(a={"type": "array", "items": {"anyOf": [{"const": number} for number in range(100)]}})
PATTERN = build_schema(a={"type": "string", "pattern": "a[ab]{20}c"})


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        (ITEMS, {"tasks": [{"title": number} for number in range(1_000)]}),
        (CHOICES, {"a": [-1] * 50}),
        (PATTERN, {"a": "ab" * 1_000}),
    ],
)
def test_validator_reports_every_error_of_an_ordinary_instance(schema: dict[str, Any], instance: Any) -> None:
    (sent,) = instance.values()
    errors = list(SchemaValidator(schema).iter_errors(instance))

    assert len(errors) == (len(sent) if isinstance(sent, list) else 1)


@pytest.mark.parametrize(
    ("schema", "instance", "sentence"),
    [
        (CHOICES, {"a": [-1] * 200}, "does not match its schema and is too large to say where"),
        (PATTERN, {"a": "ab" * 400_000}, "too large to check against its schema"),
        (build_schema() | {"patternProperties": {"a[ab]{20}c": {}}}, {"ab" * 400_000: 1}, "too large to check"),
        (
            build_schema() | {"propertyNames": {"allOf": [{"pattern": "a[ab]{20}c"}]}},
            {"ab" * 400_000: 1},
            "too large to",
        ),
    ],
)
def test_validator_refuses_an_instance_that_would_take_too_long(
    schema: dict[str, Any], instance: Any, sentence: str
) -> None:
    with pytest.raises(validator.ValidationTooExpensive, match=sentence):
        SchemaValidator(schema).iter_errors(instance)


def test_validator_accepts_a_valid_instance_of_any_size_when_its_schema_is_simple() -> None:
    assert list(SchemaValidator(ITEMS).iter_errors({"tasks": [{"title": "x" * 90}] * 9_000})) == []


@pytest.mark.parametrize(
    ("pattern", "smaller"), [("^a[ab]{200}c$", "^a[ab]{20}c$"), ("^\\p{L}{1,20}$", "^[a-z]{1,20}$")]
)
def test_character_cost_grows_with_the_states_of_a_pattern(pattern: str, smaller: str) -> None:
    assert validation_cost.estimate_character_ns(pattern) > validation_cost.estimate_character_ns(smaller) > 0
    highest = validation_cost.estimate_character_ns("(")  # it cannot be compiled
    assert highest == validation_cost.estimate_character_ns("a{1000}{1000}") > 0


@pytest.mark.parametrize(
    "applicator",
    [
        {"properties": {"b": {"const": 1}}},
        {"patternProperties": {"b": {"const": 1}}},
        {"propertyNames": {"const": 1}},
        {"allOf": [{"const": 1}]},
        {"not": {"const": 1}},
        {"if": {"const": 1}, "then": {"const": 2}},
        {"$ref": "#/$defs/d"},
        {"unevaluatedProperties": {"const": 1}},
    ],
)
def test_every_applicator_adds_to_the_cost(applicator: dict[str, Any]) -> None:
    defs = {"$defs": {"d": {"const": 1}}}

    assert (
        CostMeter(applicator | defs).estimate({"b": "x"}).checking_ns > CostMeter(defs).estimate({"b": "x"}).checking_ns
    )


_NAMES = st.sampled_from(["a", "b", "tasks", "title", ""])
_INSTANCES = st.recursive(
    st.text("ab", max_size=2_000) | st.integers(-9, 9) | st.none(),
    lambda each: st.lists(each, max_size=300) | st.dictionaries(_NAMES, each),
    max_leaves=300,
)
_NAMES_BY_PATTERN = {
    "patternProperties": {"a[ab]{50}": {"anyOf": [{"pattern": "b[ab]{50}"}, {"const": 1}]}},
    "propertyNames": {"allOf": [{"pattern": "[ab]{90}c"}, {"minLength": 1}]},
    "additionalProperties": {"$ref": "#/$defs/d"},
    "$defs": {"d": {"type": ["string", "array"], "pattern": "(a|b){40}", "items": {"anyOf": [{}, {"const": 1}]}}},
}


@settings(suppress_health_check=[HealthCheck.data_too_large, HealthCheck.too_slow])
@given(schema=st.sampled_from([ITEMS, CHOICES, PATTERN, _NAMES_BY_PATTERN]), instance=_INSTANCES)
def test_a_small_instance_is_checked_in_time_by_the_estimate(schema: dict[str, Any], instance: Any) -> None:
    meter = CostMeter(schema)

    if meter.is_small(instance):
        assert meter.estimate(instance).checking_ns <= validation_cost.MAX_CHECKING_NS


def test_only_what_json_holds_is_small() -> None:
    meter = CostMeter(PATTERN)

    assert meter.is_small({"a": "ab"})
    assert not meter.is_small({"a": "ab" * 1_000_000})
    assert not meter.is_small({"a": 2**70})
    assert not meter.is_small({"a": "\ud800"})


def test_bound_leaves_nothing_to_the_garbage_collector() -> None:
    gc.collect()
    for _ in range(100):
        validation_cost.bound_applications(ITEMS)

    assert gc.collect() < 100  # a cycle for each call would be several objects each
