"""How argument schemas are shown to a model."""

from typing import Any

import pytest
from hypothesis import given

from registry.jsonschema import schema_check, signatures
from registry.jsonschema.arguments import iter_arguments
from tests.support.rows.op_entries import build_schema
from tests.support.values.schema_samples import SCHEMAS

ROOT: dict[str, Any] = {
    "$defs": {
        "id": {"type": "string", "format": "uuid"},
        "person": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "node": {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}},
    }
}
TASK = {
    "type": "object",
    "required": ["title"],
    "properties": {"note": {"type": "string"}, "title": {"type": "string"}, "state": {"enum": ["todo", "done"]}},
}


@pytest.mark.parametrize(
    ("argument", "required", "text"),
    [
        ({"type": "string", "format": "uuid"}, True, "uuid, required"),
        ({"type": ["string", "null"], "format": "date-time"}, False, "date-time|null"),
        ({"enum": ["todo", "in_progress", "blocked", "done"]}, False, "todo|in_progress|blocked|done"),
        ({"enum": list(range(21))}, False, "|".join(map(str, range(20))) + "|… 21 values"),
        ({"const": "task"}, True, "task, required"),
        ({"type": "integer", "default": 20, "minimum": 1, "maximum": 50}, False, "integer = 20, max 50"),
        ({"type": "integer", "minimum": 1, "maximum": 5, "default": 3}, True, "integer = 3, 1..5, required"),
        ({"type": "integer", "minimum": -10, "maximum": 10}, False, "integer, min -10, max 10"),
        ({"type": "number", "maximum": 0.5}, False, "number, max 0.5"),
        ({"type": "boolean", "default": False}, False, "boolean = false"),
        ({"type": "string", "default": None}, False, "string"),
        ({"type": "array", "items": {"type": "string"}, "maxItems": 100, "default": []}, False, "[string]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2}, False, "[a|b]"),
        ({"type": "integer", "minimum": 0, "maximum": 10_000}, False, "integer"),
        # A note says what the bounds do not.
        (
            {"type": "integer", "minimum": 1, "maximum": 5, "default": 3, "x-note": "1 is most urgent"},
            True,
            "integer = 3, 1 is most urgent, required",
        ),
        ({"type": "array"}, False, "[any]"),
        ({"type": "array", "items": TASK}, True, "[{title: string, note?: string, state?: todo|done}], required"),
        (TASK, False, "{title: string, note?: string, state?: todo|done}"),
        ({"type": "object"}, False, "object"),
        ({"$ref": "#/$defs/person"}, False, "{name: string}"),
        ({"$ref": "#/$defs/node"}, False, "{value?: integer, next?: object}"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, False, "string|null"),
        ({"anyOf": [{"$ref": "#/$defs/id"}, {"$ref": "#/$defs/id"}]}, False, "uuid"),
        ({}, False, "any"),
    ],
)
def test_signature_is_one_line(argument: dict[str, Any], required: bool, text: str) -> None:
    assert signatures.format_argument(argument, ROOT, required) == text


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        (TASK, "object"),
        ({"type": "array", "items": TASK, "maxItems": 3}, "list, max 3"),
        ({"$ref": "#/$defs/person"}, "object"),
        ({"type": "string"}, "string"),
    ],
)
def test_signature_folds_nested_arguments(argument: dict[str, Any], text: str) -> None:
    assert signatures.format_argument(argument, ROOT, False, fold=True) == text


def test_short_form_lists_required_arguments_first_in_schema_order() -> None:
    result = signatures.format_arguments(
        build_schema(("c", "b"), a={"type": "string"}, b={"type": "string"}, c={"type": "integer"})
    )

    assert list(result.items()) == [("b", "string, required"), ("c", "integer, required"), ("a", "string")]
    undescribed = {"type": "object", "required": ["a", "b"], "properties": {"b": True}}
    assert signatures.format_arguments(undescribed) == {"b": "any, required", "a": "any, required"}
    assert [entry["name"] for entry in signatures.describe_arguments(undescribed)] == ["b", "a"]


def test_full_form_leaves_out_empty_parts() -> None:
    result = signatures.describe_arguments(
        build_schema(
            ("id",),
            id={"type": "string", "format": "uuid", "description": "Task to change"},
            limit={"type": "integer", "default": 0, "minimum": 0, "maximum": 50, "description": ""},
            flag={"type": "boolean", "default": False},
            items={"type": "array", "default": []},
        )
    )

    assert result == [
        {"name": "id", "type": "uuid", "required": True, "description": "Task to change"},
        {"name": "limit", "type": "integer, max 50", "required": False, "default": 0},
        {"name": "flag", "type": "boolean", "required": False, "default": False},
        {"name": "items", "type": "[any]", "required": False},
    ]
    assert list(result[0]) == ["name", "type", "required", "description"]


def test_argument_form_is_complete_without_our_annotations() -> None:
    state = {"type": "string", "enum": ["todo"], "maxLength": 9, "pattern": "^t", "x-aliases": {"open": "todo"}}
    state["x-refused"] = {"gone": "Delete it instead."}
    whole = build_schema(("state",), state=state, task=TASK | {"$comment": "ours"})

    assert signatures.describe_argument(whole, "state") == {
        "name": "state",
        "type": "string",
        "required": True,
        "enum": ["todo"],
        "maxLength": 9,
        "pattern": "^t",
    }
    assert signatures.describe_argument(whole, "task")["schema"] == TASK


@pytest.mark.parametrize("anything", [True, {}])
def test_argument_without_a_type_is_listed(anything: Any) -> None:
    expected = {"name": "a", "type": "any", "required": False}

    assert (
        signatures.describe_argument(build_schema(a=anything), "a")
        == signatures.describe_arguments(build_schema(a=anything))[0]
        == expected
    )


@pytest.mark.parametrize(
    ("argument", "filled"),
    [
        ({"type": "string", "format": "uuid"}, "<uuid>"),
        ({"type": "integer", "minimum": 3}, 3),
        ({"type": "boolean"}, True),
        ({"enum": ["b", "a"]}, "b"),
        ({"const": "task"}, "task"),
        ({"type": "string", "default": "d", "enum": ["e", "d"]}, "d"),
        ({"type": "array", "items": {"type": "string"}}, ["<x>"]),
        ({"type": "array"}, []),
        (TASK, {"title": "<title>"}),
        ({"$ref": "#/$defs/id"}, "<uuid>"),
    ],
)
def test_usage_has_a_placeholder_for_a_required_argument(argument: dict[str, Any], filled: Any) -> None:
    assert signatures.build_usage_args(build_schema(("x",), x=argument, y={"type": "string"}) | ROOT, None) == {
        "x": filled
    }


@pytest.mark.parametrize(
    ("example", "args"),
    [
        ({"task_id": "1", "state": "done", "title": "t"}, {"task_id": "<task_id>", "state": "done"}),
        ({"task_id": "1"}, {"task_id": "<task_id>"}),
        (None, {"task_id": "<task_id>"}),
    ],
)
def test_usage_with_only_ids_shows_a_change(example: dict[str, Any] | None, args: dict[str, Any]) -> None:
    schema = build_schema(("task_id",), task_id={"type": "string"}, state={})

    assert signatures.build_usage_args(schema, example) == args
    with_title = schema | {"required": ["task_id", "title"]}
    assert signatures.build_usage_args(with_title, example) == {"task_id": "<task_id>", "title": "<title>"}


def test_without_annotations_removes_our_keywords_and_no_argument() -> None:
    annotated = {
        "type": "object",
        "$comment": "ours",
        "properties": {
            "description": {"type": "string", "description": "Details", "x-aliases": {"a": "b"}},
            "x-aliases": {"type": "object", "properties": {"$comment": {"title": "Theirs"}}},
        },
        "$defs": {"title": {"allOf": [{"$comment": "ours", "examples": [1]}]}},
    }

    assert signatures.strip_annotations(annotated) == {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": "Details"},
            "x-aliases": {"type": "object", "properties": {"$comment": {"title": "Theirs"}}},
        },
        "$defs": {"title": {"allOf": [{"examples": [1]}]}},
    }
    assert signatures.strip_annotations(annotated, prose=False)["properties"] == {
        "description": {"type": "string"},
        "x-aliases": {"type": "object", "properties": {"$comment": {}}},
    }


@given(SCHEMAS)
def test_any_publishable_schema_can_be_rendered(schema: Any) -> None:
    if schema_check.find_problems(schema):
        return
    required = {name for name, _, needed in iter_arguments(schema) if needed}
    named = {name for name, _, _ in iter_arguments(schema)}

    assert required >= set(schema.get("required", []))
    assert named >= required | set(schema.get("properties", {}))
    others = {signatures.OTHERS}  # of a schema that says that there may be more
    assert set(signatures.format_arguments(schema)) - others == named - others
    assert set(signatures.format_arguments(schema, fold=True)) - others == named - others
    assert {entry["name"] for entry in signatures.describe_arguments(schema)} - others == named - others
    assert set(signatures.build_usage_args(schema, {})) == required
    for name in named:
        assert signatures.describe_argument(schema, name)["name"] == name


def test_text_with_a_pattern_shows_its_form_where_a_call_comes_next() -> None:
    kind = {"type": "string", "pattern": r"^project\.(work|home)\.[a-z_]+$", "x-note": "project.(work|home).<what>"}
    project = {
        "type": "object",
        "required": ["name", "kind"],
        "properties": {
            "name": {"type": "string"},
            "kind": kind,
            "slug": {"type": "string", "x-rare": True},
            "note": {"type": "string", "x-note": "in markdown"},
        },
    }
    schema = {**ROOT, **build_schema(project=project), "required": ["project"]}

    forms = [signatures.format_arguments(schema, **{form: True})["project"] for form in ("lean", "outline", "fold")] + [
        signatures.format_arguments(schema)["project"]
    ]

    assert forms == [
        "{name: string, kind: project.(work|home).<what>, note?: string, …}, required",
        "{name, kind: project.(work|home).<what>, slug?, note?}, required",
        "object, required",
        "{name: string, kind: string, slug?: string, note?: string}, required",
    ]


def test_required_list_says_that_it_can_be_empty_where_a_call_comes_next() -> None:
    rows = {"type": "array", "items": {"type": "string"}}
    schema = build_schema(rows={**rows, "default": []}, ids=rows, tags={**rows, "default": []})
    schema["required"] = ["rows", "ids"]

    assert signatures.format_arguments(schema, lean=True) == {
        "rows": "[string], required, [] if none",
        "ids": "[string], required",
        "tags": "[string]",
    }
    assert signatures.format_arguments(schema)["rows"] == "[string], required"


def test_outline_names_the_first_members_of_objects_and_of_the_items_of_lists() -> None:
    step = {
        "type": "object",
        "required": ["title"],
        "properties": {
            "note": {"type": "string"},
            "title": {"type": "string"},
            "owner": {"$ref": "#/$defs/person"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "hours": {"type": "integer"},
        },
    }
    schema = build_schema(
        steps={"type": "array", "items": step},
        person={"$ref": "#/$defs/person"},
        tags={"type": "array", "items": {"type": "string"}},
        rest={"type": "array", "items": {"type": "object"}},
        limit={"type": "integer", "default": 20},
    )

    assert signatures.format_arguments({**ROOT, **schema, "required": ["steps"]}, outline=True) == {
        "steps": "list of {title, note?, owner?, tags?, …}, required",
        "person": "{name}",
        "tags": "list of string",
        "rest": "list",
        "limit": "integer = 20",
    }
