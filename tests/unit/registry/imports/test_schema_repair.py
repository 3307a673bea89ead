"""Imported parameter schemas: repaired where that is safe, refused where serving would break."""

import copy
from typing import Any

import pytest

from registry.imports import schema_repair
from registry.imports.schema_repair import UnusableParameters
from registry.jsonschema import schema_check


def repair(parameters: Any) -> dict[str, Any]:
    before = copy.deepcopy(parameters)
    schema, _ = schema_repair.repair_parameters(parameters)
    assert parameters == before
    assert schema_check.find_problems(schema) == []
    return schema


def make_schema(argument: Any, **beside: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": argument}} | beside


@pytest.mark.parametrize("nothing", [None, [], {}])
def test_missing_parameters_mean_no_arguments(nothing: Any) -> None:
    assert repair(nothing) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "schema",
    [
        make_schema({"type": "string", "pattern": "(a+)+$"}),
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": {"a": {}, "b": {}}},
        {
            "type": "object",
            "$ref": "#/$defs/node",
            "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        },
        make_schema({"type": "string"}, additionalProperties=False, required=["a"]),
        make_schema({"type": "string", "format": "int32", "x-vendor": 1}),
        make_schema({"properties": {"required": {"type": "string"}, "type": {"enum": ["dict"]}}}),
    ],
)
def test_valid_schema_is_unchanged(schema: dict[str, Any]) -> None:
    assert repair(schema) == schema
    assert schema_repair.repair_parameters(schema)[1] == []


@pytest.mark.parametrize(
    ("parameters", "schema"),
    [
        ({"properties": {"a": {}}}, make_schema({})),
        ({"type": ["object", "null"], "properties": None}, {"type": "object"}),
        ({"type": "dict", "properties": {"a": {"type": "float"}}}, make_schema({"type": "number"})),
        (make_schema({"type": "tuple", "items": {"type": "Any"}}), make_schema({"type": "array", "items": {}})),
        (make_schema({"type": "string", "required": True}), make_schema({"type": "string"}, required=["a"])),
        ({"a": {"type": "string", "description": "A map"}}, make_schema({"type": "string", "description": "A map"})),
        (make_schema("The name of it"), make_schema({"description": "The name of it"})),
        (make_schema(True), make_schema({})),
        (make_schema(False), make_schema({"not": {}})),
        (make_schema({"type": "string", "nullable": True}), make_schema({"type": ["string", "null"]})),
        (make_schema({"minimum": 1, "exclusiveMinimum": True}), make_schema({"exclusiveMinimum": 1})),
        (make_schema({"maximum": 10**400, "minimum": float("-inf")}), make_schema({"maximum": 10**400})),
        (
            make_schema({"items": [{}, {}], "additionalItems": False}),
            make_schema({"prefixItems": [{}, {}], "items": False}),
        ),
        (make_schema({"enum": []}), make_schema({})),
        (make_schema({"pattern": "^(?!secret)"}), make_schema({})),
        (make_schema({"minLength": "3", "title": 5}), make_schema({})),
        (make_schema({}, required="a"), make_schema({})),
        (
            make_schema({}, **{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://acme.com/x"}),
            make_schema({}),
        ),
    ],
)
def test_invalid_schema_is_repaired(parameters: Any, schema: dict[str, Any]) -> None:
    assert repair(parameters) == schema


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = make_schema(schema)
    return schema


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ("text", "not an object"),
        ({"type": "string"}, "have the type string"),
        ({"type": ["array", "null"], "items": {}}, "args are an object"),
        (nested(17), "nested more than 16"),
        (make_schema({"$ref": "https://acme.com/schema"}), "outside"),
        (make_schema({"description": "x" * 200_000}), "200000 characters"),
        (make_schema({}, **{"$schema": "https://acme.com/dialect"}), "dialect"),
    ],
)
def test_schema_that_would_break_serving_is_refused(parameters: Any, reason: str) -> None:
    with pytest.raises(UnusableParameters, match=reason):
        schema_repair.repair_parameters(parameters)


def test_each_kind_of_repair_is_reported_once() -> None:
    parameters = {"type": "object", "properties": {f"a{n}": {"type": "float"} for n in range(9)}}

    assert schema_repair.repair_parameters(parameters)[1] == ["Type names were replaced with those of JSON Schema."]
    _, text = schema_repair.repair_parameters(make_schema({"pattern": "(?=x)"}))
    assert text == ["An invalid keyword was removed: properties/a/pattern."]
