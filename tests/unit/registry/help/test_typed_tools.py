"""Ops as typed tools: schemas that every provider accepts, and schemas for strict mode."""

from typing import Any

import pytest

from registry.help import typed_tools
from tests.support.rows.op_entries import build_schema


def test_strict_schema_requires_every_argument_and_takes_null_for_optional_ones() -> None:
    schema = build_schema(
        ("id",),
        id={"type": "string", "format": "uuid", "minLength": 36},
        state={"type": "string", "enum": ["a", "b"], "description": "The state", "default": "a"},
        tags={"type": "array", "items": {"type": "string"}, "maxItems": 3},
    )

    assert typed_tools.make_strict(schema) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "state": {"description": "The state", "anyOf": [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]},
            "tags": {"type": ["array", "null"], "items": {"type": "string"}},
        },
        "required": ["id", "state", "tags"],
    }


@pytest.mark.parametrize(
    "argument",
    [
        {"type": ["string", "null"]},  # null already means something
        {"type": "object"},  # any members
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "array"},
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"$ref": "#/$defs/a"},
        {},
        True,
    ],
)
def test_schema_that_strict_mode_cannot_describe_is_none(argument: Any) -> None:
    assert typed_tools.make_strict(build_schema(x=argument)) is None
