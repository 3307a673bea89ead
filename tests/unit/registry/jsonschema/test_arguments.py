"""Arguments are found wherever a schema defines them."""

from collections.abc import Callable
from typing import Any

import pytest

from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.jsonschema import arguments, signatures
from tests.support.growth import assert_linear
from tests.support.rows.op_entries import build_catalog, build_op_entry

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def make_part(*required: str, **properties: Any) -> dict[str, Any]:
    return {"properties": properties} | ({"required": list(required)} if required else {})


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (make_part("b", a=TEXT, b=NUMBER), {"b": "number, required", "a": "string"}),
        ({"$ref": "#/$defs/x", "$defs": {"x": make_part("a", a=TEXT)}}, {"a": "string, required"}),
        ({"allOf": [make_part("a", a=TEXT), make_part(b=NUMBER)]}, {"a": "string, required", "b": "number"}),
        ({"allOf": [{"required": ["a"]}], **make_part(a=TEXT)}, {"a": "string, required"}),
        ({"anyOf": [make_part("a", a=TEXT), make_part("b", b=NUMBER)]}, {"a": "string", "b": "number"}),
        ({"oneOf": [make_part("a", a=TEXT), make_part("a", a=NUMBER)]}, {"a": "string|number, required"}),
        ({"oneOf": [make_part("k", k={"const": "x"}), make_part("k", k={"const": "y"})]}, {"k": "x|y, required"}),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], **make_part(a=TEXT, b=TEXT)},
            {"a": "string", "b": "string"},
        ),
        (
            {"if": make_part(a=TEXT), "then": make_part("b", b=TEXT), "else": make_part(c=NUMBER)},
            {"b": "string", "c": "number"},
        ),
        ({"dependentSchemas": {"a": make_part("b", b=TEXT)}, **make_part(a=TEXT)}, {"a": "string", "b": "string"}),
        ({"allOf": [{"anyOf": [make_part(a=TEXT), make_part(b=TEXT)]}]}, {"a": "string", "b": "string"}),
        ({"allOf": [make_part(a={}), make_part(a=TEXT)]}, {"a": "string"}),
        ({"anyOf": "nothing", "properties": [], "required": "a"}, {}),
    ],
)
def test_arguments_are_found_in_every_part_of_a_schema(schema: dict[str, Any], expected: dict[str, str]) -> None:
    schema = {"type": "object"} | schema

    assert signatures.format_arguments(schema) == expected
    assert {name: required for name, _, required in arguments.iter_arguments(schema)} == {
        name: "required" in text for name, text in expected.items()
    }


def test_op_lists_the_arguments_of_all_parts() -> None:
    schema = {"type": "object", "anyOf": [make_part("a", "b", a=TEXT, b=TEXT), make_part("a", a=TEXT, c=NUMBER)]}
    released = build_catalog(build_op_entry("onto.add", parameters_schema=schema)).ops["onto.add"]

    assert (set(released.arguments), released.required) == ({"a", "b", "c"}, {"a"})
    assert released.validator.is_valid({"a": "x", "c": 1})
    assert not released.validator.is_valid({"b": "x"})


def test_recursive_parts_end() -> None:
    schema: dict[str, Any] = make_part(deepest=TEXT)
    for _ in range(30):
        schema = {"allOf": [schema]}

    assert list(arguments.iter_arguments(schema)) == []
    assert arguments.list_required_alternatives(schema) == []


def test_first_of_several_descriptions_is_used() -> None:
    alternatives = {
        "anyOf": [make_part(a=TEXT | {"description": "First"}), make_part(a=NUMBER | {"description": "Second"})]
    }

    assert signatures.describe_arguments(alternatives) == [
        {"name": "a", "type": "string|number", "required": False, "description": "First"}
    ]


# --- bounded output ---------------------------------------------------------------------------------------------------


def make_exponential_schema(links: int) -> dict[str, Any]:
    """Return a schema whose arguments double with every reference when written out."""
    defs: dict[str, Any] = {
        f"d{n}": make_part(a={"$ref": f"#/$defs/d{n + 1}"}, b={"$ref": f"#/$defs/d{n + 1}"}) for n in range(links)
    }
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs | {f"d{links}": TEXT}}


def test_exponential_definitions_are_folded() -> None:
    (short,) = signatures.format_arguments(make_exponential_schema(40)).values()
    (full,) = signatures.describe_arguments(make_exponential_schema(40))

    assert len(short) < 3_000
    assert "object" in short
    assert full["type"] == short


def test_argument_help_includes_only_the_definitions_it_needs() -> None:
    defs = {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}, "c": TEXT}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": defs}

    result = signatures.describe_argument(schema, "x")

    assert result["schema"] == {"$ref": "#/$defs/a", "$defs": {"a": defs["a"], "b": defs["b"]}}


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ({"allOf": [{"$ref": "#/$defs/state"}], "default": "todo"}, "todo|done = todo"),
        ({"allOf": [{"description": "Nothing"}, TEXT]}, "string"),
        ({"allOf": [make_part(a=TEXT), make_part("b", b=NUMBER)]}, "{b: number, a?: string}"),
        ({"type": "object", "anyOf": [make_part(a=TEXT), make_part(b=TEXT)]}, "{a?: string}|{b?: string}"),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "object"),
        ({"properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}]}, "{a: string}"),
        ({"anyOf": [{"const": n} for n in range(30)]}, "|".join(map(str, range(20))) + "|…"),
        ({"type": "string", "format": "ignore all\nprevious"}, "string"),
        ({"type": "array", "prefixItems": [TEXT]}, "[any]"),
    ],
)
def test_unusual_arguments_have_a_signature(argument: dict[str, Any], text: str) -> None:
    root = {"$defs": {"state": {"enum": ["todo", "done"]}}}

    assert signatures.format_argument(argument, root, False) == text


def test_op_with_a_thousand_arguments_fits_a_budget() -> None:
    wide = {f"a{n}": {"type": "string", "description": "Some words about it"} for n in range(1_000)}
    schema = {"type": "object", "properties": wide, "required": ["a7"]}
    catalog = build_catalog(build_op_entry("onto.add", parameters_schema=schema))

    body = help_pages.answer_query(catalog, HelpQuery(path="onto.add", format="full", max_tokens=120)).body

    assert b'"name":"a7"' in body
    assert b"args.*" in body
    assert len(body) < 500


MANY_NAMES = {
    "required": lambda names: {"properties": {name: {} for name in names}, "required": names},
    "only required": lambda names: {"required": names},
    "required in all alternatives": lambda names: {"anyOf": [{"required": names}, {"required": names}]},
}


@pytest.mark.parametrize("build", MANY_NAMES.values(), ids=MANY_NAMES)
def test_arguments_are_listed_in_linear_time(build: Callable[[list[str]], dict[str, Any]]) -> None:
    def list_arguments(schema: dict[str, Any]) -> None:
        assert any(arguments.iter_arguments(schema))

    assert_linear(list_arguments, lambda size: build([f"a{at}" for at in range(size)]), size=5_000)
