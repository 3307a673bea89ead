"""Lean definitions of tools: what they leave out, and what must stay."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.help import lean_definitions
from registry.jsonschema.signatures import strip_annotations

NAMES = ("task_id", "title", "limit", "format", "props")
LEAVES: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    (
        {"type": "string", "minLength": 1, "maxLength": 40},
        {"type": "string", "format": "uuid", "x-rare": True},
        {"type": "integer", "minimum": 1, "maximum": 50},
        {"type": "array", "items": {"type": "string", "maxLength": 3}, "maxItems": 5, "uniqueItems": True},
        {"type": ["string", "null"], "format": "iso-date-or-date-time"},
        {"enum": ["a", "b"], "x-rare": True},
    )
)


def build_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": sorted(properties)[:1],
        "additionalProperties": False,
    }


SCHEMAS = st.recursive(
    LEAVES, lambda leaves: st.dictionaries(st.sampled_from(NAMES), leaves).map(build_object), max_leaves=12
)
VALUES = st.recursive(
    st.none() | st.integers(0, 60) | st.text("ab", max_size=3) | st.lists(st.text("ab", max_size=4), max_size=6),
    lambda values: st.dictionaries(st.sampled_from(NAMES), values),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(NAMES), SCHEMAS).map(build_object), VALUES)
def test_lean_and_brief_schemas_accept_whatever_the_whole_one_accepts(schema: dict[str, Any], value: Any) -> None:
    whole, (lean, _) = strip_annotations(schema), lean_definitions.make_lean(schema)
    brief, _ = lean_definitions.make_brief(lean)

    if jsonschema.Draft202012Validator(whole).is_valid(value):
        assert jsonschema.Draft202012Validator(strip_annotations(lean)).is_valid(value)
        assert jsonschema.Draft202012Validator(strip_annotations(brief)).is_valid(value)


def test_brief_schema_has_the_required_arguments_and_names_the_others() -> None:
    schema = {
        "type": "object",
        "required": ["task_id", "description"],
        "properties": {
            "task_id": {"type": "string", "description": "Task to change"},
            "description": {"type": "string", "description": "New text"},
            "title": {"type": "string", "description": "New title"},
        },
    }

    brief, optional = lean_definitions.make_brief(schema)

    assert brief["properties"] == {"task_id": {"type": "string"}, "description": {"type": "string"}}
    assert brief["required"] == ["task_id", "description"]
    assert optional == ("title",)


def test_rare_arguments_are_only_named_unless_they_are_required() -> None:
    schema = {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "string", "x-rare": True},
            "fields": {"type": "array", "x-rare": True},
            "row": {"type": "object", "description": "A row", "properties": {"props": {"x-rare": True}}},
        },
    }

    lean, rare = lean_definitions.make_lean(schema)

    assert rare == ("fields",)
    assert lean["properties"].keys() == {"id", "row"}
    assert lean["properties"]["row"] == {
        "type": "object",
        "description": "A row. Also takes props.",
        "properties": {},
    }


def test_argument_with_the_name_of_a_limit_stays() -> None:
    schema = {"type": "object", "properties": {"maxLength": {"type": "integer", "minimum": 0, "maximum": 5}}}

    assert lean_definitions.make_lean(schema)[0]["properties"] == {"maxLength": {"type": "integer", "maximum": 5}}


@pytest.mark.parametrize(
    ("shown", "description"),
    [
        ({"find_row"}, "List rows. Does not match words; find_row does."),
        (set(), "List rows."),
        ({"find"}, "List rows."),
    ],
)
def test_description_names_only_tools_that_are_shown(shown: set[str], description: str) -> None:
    text = "List rows. Does not match words; find_row does."

    assert lean_definitions.drop_hidden_tools(text, {"find_row"}, shown) == description
