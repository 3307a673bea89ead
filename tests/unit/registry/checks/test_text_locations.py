"""The texts of an entry, and the paths that lead to them."""

from registry.checks.text_locations import CheckedOp, iter_strings
from tests.support.rows.op_entries import build_op_entry, build_schema

NESTED = build_schema(
    a={"type": "array", "items": build_schema(b={"anyOf": [{"type": "integer"}, build_schema(c={})]})},
    **{"x/y~z": {"additionalProperties": build_schema(d={"$ref": "#/$defs/e"})}},
) | {"$defs": {"e": build_schema(f={})}}


def test_argument_paths_lead_to_their_arguments() -> None:
    entry = build_op_entry("o.p", parameters_schema=NESTED)
    arguments = {argument.name: argument for argument in CheckedOp(entry).arguments}

    assert set(arguments) == {"a", "b", "c", "x/y~z", "d", "f"}
    for argument in arguments.values():
        value = entry
        for step in argument.field.split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            value = value[int(name)] if isinstance(value, list) else value[name]
        assert value is argument.schema


def test_types_include_alternatives_lists_and_references() -> None:
    reading = CheckedOp(build_op_entry("o.p", parameters_schema=NESTED))
    types = {argument.name: argument.collect_types(reading.schema) for argument in reading.arguments}

    assert types["a"] == {"array", "object"}
    assert types["b"] == {"integer", "object"}
    assert types["d"] == {"object"}


def test_strings_include_names_and_values() -> None:
    assert list(iter_strings({"a": ["x", {"b/c": "y"}], "n": 1})) == [
        ("a", "a"),
        ("a/0", "x"),
        ("a/1/b~1c", "b/c"),
        ("a/1/b~1c", "y"),
        ("n", "n"),
    ]
