"""Parameters as strangers write them: mended where that is safe, refused where serving would break."""

import copy
from typing import Any

import pytest

from registry.imports import schema_repair
from registry.imports.schema_repair import UnusableParameters
from registry.jsonschema import schemas


def settled(given: Any) -> dict[str, Any]:
    before = copy.deepcopy(given)
    schema, _ = schema_repair.repair_parameters(given)
    assert given == before
    assert schemas.find_problems(schema) == []
    return schema


def within(argument: Any, **beside: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": argument}} | beside


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_no_parameters_are_no_arguments(nothing: Any) -> None:
    assert settled(nothing) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "kept",
    [
        within({"type": "string", "pattern": "(a+)+$"}),
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
        {
            "type": "object",
            "$ref": "#/$defs/node",
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        },
        within({"type": "string"}, additionalProperties=False, required=["a"]),
        within({"type": "string", "format": "int32", "x-vendor": 1}),
        within({"properties": {"required": {"type": "string"}, "type": {"enum": ["dict"]}}}),
    ],
)
def test_what_validates_is_kept_as_it_is(kept: dict[str, Any]) -> None:
    assert settled(kept) == kept
    assert schema_repair.repair_parameters(kept)[1] == []


@pytest.mark.parametrize(
    ("given", "schema"),
    [
        ({"properties": {"a": {}}}, within({})),
        ({"type": ["object", "null"], "properties": None}, {"type": "object"}),
        ({"type": "dict", "properties": {"a": {"type": "float"}}}, within({"type": "number"})),
        (within({"type": "tuple", "items": {"type": "Any"}}), within({"type": "array", "items": {}})),
        (within({"type": ["str", "None"]}), within({"type": ["string", "null"]})),
        (within({"type": "string", "required": True}), within({"type": "string"}, required=["a"])),
        (within({"type": "string", "required": False}), within({"type": "string"})),
        ({"a": {"type": "string", "description": "A map"}}, within({"type": "string", "description": "A map"})),
        (within("string"), within({"type": "string"})),
        (within("The name of it"), within({"description": "The name of it"})),
        (within(True), within({})),
        (within(None), within({})),
        (within(False), within({"not": {}})),
        (within({"type": "string", "nullable": True}), within({"type": ["string", "null"]})),
        (within({"type": "null", "nullable": True, "enum": ["x"]}), within({"type": "null", "enum": ["x", None]})),
        (within({"minimum": 1, "exclusiveMinimum": True}), within({"exclusiveMinimum": 1})),
        (within({"minimum": 1, "exclusiveMinimum": False}), within({"minimum": 1})),
        (within({"maximum": 2**63 - 1}), within({"maximum": 2.0**63})),
        (within({"maximum": 10**400, "minimum": float("-inf")}), within({})),
        (within({"items": [{}, {}], "additionalItems": False}), within({"prefixItems": [{}, {}], "items": False})),
        (within({"enum": []}), within({})),
        (within({"pattern": "^(?!secret)"}), within({})),
        (within({"pattern": "((a{1000}){1000}){100}"}), within({})),
        ({"type": "object", "properties": {"1": {"pattern": "^(?!x)"}}}, {"type": "object", "properties": {"1": {}}}),
        (within({"minLength": "3", "title": 5}), within({})),
        (within({}, required="a"), within({})),
        ({"type": "object", "properties": [1]}, {"type": "object"}),
        (within({}, **{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://acme.com/x"}), within({})),
    ],
)
def test_what_is_off_is_mended(given: Any, schema: dict[str, Any]) -> None:
    assert settled(given) == schema


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = within(schema)
    return schema


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("text", "not an object"),
        ([1], "not an object"),
        ({"type": "string"}, "have the type string"),
        ({"type": ["array", "null"], "items": {}}, "args are an object"),
        (nested(17), "nested more than 16"),
        (within({"$ref": "https://acme.com/schema"}), "outside"),
        (within({"$ref": "file:///etc/passwd"}), "outside"),
        (within({"$ref": "#/$defs/none"}), "has no target"),
        (within({"$ref": "#/properties/a"}), "back to itself"),
        (within({"enum": list(range(501))}), "more than 500"),
        (within({"pattern": "a" * 501}), "longer than 500"),
        (within({"description": "x" * 200_000}), "200000 characters"),
        ({"type": "object", "properties": {f"a{n}": {} for n in range(2_001)}}, "2000 subschemas"),
        (within({"$dynamicRef": "#x"}), "not supported"),
        (within({}, **{"$schema": "https://acme.com/dialect"}), "dialect"),
    ],
)
def test_what_would_break_serving_is_refused(given: Any, reason: str) -> None:
    with pytest.raises(UnusableParameters, match=reason):
        schema_repair.repair_parameters(given)


def test_every_kind_of_mend_is_told_once() -> None:
    given = {"type": "object", "properties": {f"a{n}": {"type": "float"} for n in range(9)}}

    assert schema_repair.repair_parameters(given)[1] == ["Type names were replaced with those of JSON Schema."]
    _, told = schema_repair.repair_parameters(within({"pattern": "(?=x)"}))
    assert told == ["An invalid keyword was removed: properties/a/pattern."]
