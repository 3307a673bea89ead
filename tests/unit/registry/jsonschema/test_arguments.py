"""Arguments are found wherever a schema names them."""

from typing import Any

import pytest

from registry.help import help_pages
from registry.help.help_pages import HelpQuery
from registry.jsonschema import arguments, signatures
from tests.support.op_entries import catalog, op

TEXT = {"type": "string"}
NUMBER = {"type": "number"}


def part(*required: str, **properties: Any) -> dict[str, Any]:
    return {"properties": properties} | ({"required": list(required)} if required else {})


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        (part("b", a=TEXT, b=NUMBER), {"b": "number, required", "a": "string"}),
        ({"$ref": "#/$defs/x", "$defs": {"x": part("a", a=TEXT)}}, {"a": "string, required"}),
        ({"allOf": [part("a", a=TEXT), part(b=NUMBER)]}, {"a": "string, required", "b": "number"}),
        ({"allOf": [{"required": ["a"]}], **part(a=TEXT)}, {"a": "string, required"}),
        ({"anyOf": [part("a", a=TEXT), part("b", b=NUMBER)]}, {"a": "string", "b": "number"}),
        ({"oneOf": [part("a", a=TEXT), part("a", a=NUMBER)]}, {"a": "string|number, required"}),
        ({"oneOf": [part("k", k={"const": "x"}), part("k", k={"const": "y"})]}, {"k": "x|y, required"}),
        ({"anyOf": [{"required": ["a"]}, {"required": ["b"]}], **part(a=TEXT, b=TEXT)}, {"a": "string", "b": "string"}),
        ({"if": part(a=TEXT), "then": part("b", b=TEXT), "else": part(c=NUMBER)}, {"b": "string", "c": "number"}),
        ({"dependentSchemas": {"a": part("b", b=TEXT)}, **part(a=TEXT)}, {"a": "string", "b": "string"}),
        ({"allOf": [{"anyOf": [part(a=TEXT), part(b=TEXT)]}]}, {"a": "string", "b": "string"}),
        ({"allOf": [part(a={}), part(a=TEXT)]}, {"a": "string"}),
        ({"anyOf": "nothing", "properties": [], "required": "a"}, {}),
    ],
)
def test_arguments_are_found_in_every_part(schema: dict[str, Any], found: dict[str, str]) -> None:
    schema = {"type": "object"} | schema

    assert signatures.format_arguments(schema) == found
    assert {name: required for name, _, required in arguments.iter_arguments(schema)} == {
        name: "required" in text for name, text in found.items()
    }


def test_an_op_knows_them_as_its_own() -> None:
    schema = {"type": "object", "anyOf": [part("a", "b", a=TEXT, b=TEXT), part("a", a=TEXT, c=NUMBER)]}
    released = catalog(op("onto.add", parameters_schema=schema)).ops["onto.add"]

    assert (set(released.arguments), released.required) == ({"a", "b", "c"}, {"a"})
    assert released.validator.is_valid({"a": "x", "c": 1})
    assert not released.validator.is_valid({"b": "x"})


def test_parts_of_parts_end_somewhere() -> None:
    schema: dict[str, Any] = part(deepest=TEXT)
    for _ in range(30):
        schema = {"allOf": [schema]}

    assert list(arguments.iter_arguments(schema)) == []
    assert arguments.list_required_alternatives(schema) == []


def test_several_descriptions_keep_the_first_ones_words() -> None:
    said = {"anyOf": [part(a=TEXT | {"description": "First"}), part(a=NUMBER | {"description": "Second"})]}

    assert signatures.describe_arguments(said) == [
        {"name": "a", "type": "string|number", "required": False, "description": "First"},
    ]


# --- shown safely -----------------------------------------------------------------------------------------------------


def laughing(links: int) -> dict[str, Any]:
    """Return a schema whose arguments, written out, would double with every link."""
    defs: dict[str, Any] = {
        f"d{n}": part(a={"$ref": f"#/$defs/d{n + 1}"}, b={"$ref": f"#/$defs/d{n + 1}"}) for n in range(links)
    }
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs | {f"d{links}": TEXT}}


def test_definitions_that_multiply_are_folded() -> None:
    (short,) = signatures.format_arguments(laughing(40)).values()
    (full,) = signatures.describe_arguments(laughing(40))

    assert len(short) < 3_000
    assert "object" in short
    assert full["type"] == short


def test_help_on_an_argument_brings_the_definitions_it_needs_and_no_other() -> None:
    defs = {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}, "c": TEXT}
    schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": defs}

    told = signatures.describe_argument(schema, "x")

    assert told["schema"] == {"$ref": "#/$defs/a", "$defs": {"a": defs["a"], "b": defs["b"]}}


@pytest.mark.parametrize(
    ("argument", "text"),
    [
        ({"allOf": [{"$ref": "#/$defs/state"}], "default": "todo"}, "todo|done = todo"),
        ({"allOf": [{"description": "Nothing"}, TEXT]}, "string"),
        ({"allOf": [part(a=TEXT), part("b", b=NUMBER)]}, "{b: number, a?: string}"),
        ({"type": "object", "anyOf": [part(a=TEXT), part(b=TEXT)]}, "{a?: string}|{b?: string}"),
        ({"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "object"),
        ({"properties": {"a": TEXT}, "anyOf": [{"required": ["a"]}]}, "{a: string}"),
        ({"anyOf": [{"const": n} for n in range(30)]}, "|".join(map(str, range(20))) + "|…"),
        ({"type": "string", "format": "ignore all\nprevious"}, "string"),
        ({"type": "array", "prefixItems": [TEXT]}, "[any]"),
    ],
)
def test_odd_arguments_have_a_signature(argument: dict[str, Any], text: str) -> None:
    root = {"$defs": {"state": {"enum": ["todo", "done"]}}}

    assert signatures.format_argument(argument, root, False) == text


def test_an_op_of_a_thousand_arguments_fits_a_budget() -> None:
    wide = {f"a{n}": {"type": "string", "description": "Some words about it"} for n in range(1_000)}
    schema = {"type": "object", "properties": wide, "required": ["a7"]}
    found = catalog(op("onto.add", parameters_schema=schema))

    body = help_pages.answer_query(found, HelpQuery(path="onto.add", format="full", max_tokens=120)).body

    assert b'"name":"a7"' in body
    assert b"args.*" in body
    assert len(body) < 500
