"""Operations that can never be called as documented are found, and no others."""

import json
from typing import Any

import pytest

from registry.imports import document_source, run_import, self_check
from registry.imports.openapi import parse_document
from registry.jsonschema import samples, validator
from registry.jsonschema.samples import NoSample
from tests.support.upstreams.documented_calls import describe_post, refer

TEXT = {"type": "string"}
NOTHING = {"allOf": [{"type": "string"}, {"type": "integer"}]}


def find(document: Any, **changes: Any) -> list[str]:
    parsed = parse_document(json.dumps(document).encode())
    (op,) = document_source.build_source(parsed, whole=parsed).ops
    entry = run_import.build_op_entry(op, path="api.thing.get", tool_name="get_thing")
    if changes:
        entry["request"] = {**entry["request"], **changes}
    return self_check.find_uncallable(entry, op.documented)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (NOTHING, "requires a, which has parts of different types"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "requires a, which has bounds that no number fits"),
        ({"type": "string", "enum": ["a"], "maxLength": 0}, "requires a, which accepts none of its own values"),
        ({"type": "string", "minLength": 3, "maxLength": 2}, "requires a, which has bounds that no text fits"),
        ({"type": "object", "required": ["b"], "properties": {"b": NOTHING}}, "requires a, which requires b"),
    ],
)
def test_argument_without_a_value_is_reported(schema: Any, problem: str) -> None:
    body = {"type": "object", "required": ["a"], "properties": {"a": schema}}
    (remark,) = find(describe_post(body))
    assert remark.startswith(self_check.NEVER)
    assert problem in remark

    (optional,) = find(describe_post(body | {"required": []}))
    assert optional.startswith("Its argument a can never be sent")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"method": "PUT"}, "it is sent as PUT"),
        ({"path": "/others"}, "its path is not the documented one"),
        ({"parameters": []}, "a is required in its query"),
        ({"body": {"content_type": "text/csv", "argument": "b"}}, "its body is sent as text/csv"),
        ({"body": {"content_type": "application/json", "properties": {}}}, "b is required in its body"),
    ],
)
def test_request_that_is_not_the_documented_one_is_reported(changes: dict[str, Any], problem: str) -> None:
    document = describe_post({"type": "object", "required": ["b"], "properties": {"b": TEXT}})
    parameter = {"name": "a", "in": "query", "required": True, "schema": TEXT}
    document["paths"]["/things"]["post"]["parameters"] = [parameter]

    assert find(document) == []
    (remark,) = find(document, **changes)
    assert problem in remark


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {
            "type": "object",
            "properties": {"a": {"type": "string", "pattern": "^[a-f]{3}-[0-9]{7}$"}},
            "required": ["a"],
        },
        refer("Node"),
        {"oneOf": [{"type": "object", "required": ["x"], "properties": {"x": NOTHING}}, {"type": "object"}]},
        {"type": "array", "items": {"type": "string", "format": "uuid"}, "minItems": 2, "uniqueItems": True},
        {"type": "object", "minProperties": 1, "additionalProperties": {"type": "integer"}},
    ],
)
def test_operation_that_can_be_called_is_not_reported(schema: Any) -> None:
    node = {"type": "object", "required": ["name"], "properties": {"name": TEXT, "next": refer("Node")}}
    assert find(describe_post(schema, Node=node)) == []
    if schema.get("type") != "array":
        assert find(describe_post(schema, "multipart/form-data", Node=node)) == []


def test_required_value_that_contains_itself_is_not_called_certain() -> None:
    endless = {"type": "object", "required": ["next"], "properties": {"next": refer("Node")}}
    assert find(describe_post(refer("Node"), Node=endless)) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "multipleOf": 7, "minimum": 10},
        {"type": "integer", "minimum": 2**63},
        {"type": "string", "minLength": 40},
        {"type": "string", "pattern": "^[A-Z]{3}$"},
        {"type": ["string", "null"], "format": "date-time"},
        {"type": "array", "minItems": 3, "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True},
        {"allOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"a": {"maxLength": 2}}}]},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": TEXT, "b": TEXT}},
    ],
)
def test_sample_is_valid(schema: Any) -> None:
    assert validator.find_instance_problems(schema, samples.build_sample(schema)) == []


def test_pattern_without_a_known_text_is_not_certain() -> None:
    with pytest.raises(NoSample) as failed:
        samples.build_sample({"type": "string", "pattern": "^zz-[0-9]{9}$"})

    assert not failed.value.is_certain
