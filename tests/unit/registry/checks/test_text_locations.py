"""Where an entry says something, and the paths that lead there."""

from registry.checks.text_locations import CheckedOp, iter_strings
from tests.support.op_entries import op, schema

NESTED = schema(
    a={"type": "array", "items": schema(b={"anyOf": [{"type": "integer"}, schema(c={})]})},
    **{"x/y~z": {"additionalProperties": schema(d={"$ref": "#/$defs/e"})}},
) | {"$defs": {"e": schema(f={})}}


def test_every_argument_is_found_with_a_path_that_leads_to_it() -> None:
    entry = op("o.p", parameters_schema=NESTED)
    found = {argument.name: argument for argument in CheckedOp(entry).arguments}

    assert set(found) == {"a", "b", "c", "x/y~z", "d", "f"}
    for argument in found.values():
        value = entry
        for step in argument.field.split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            value = value[int(name)] if isinstance(value, list) else value[name]
        assert value is argument.schema


def test_types_are_those_of_alternatives_lists_and_references() -> None:
    reading = CheckedOp(op("o.p", parameters_schema=NESTED))
    types = {argument.name: argument.collect_types(reading.schema) for argument in reading.arguments}

    assert types["a"] == {"array", "object"}
    assert types["b"] == {"integer", "object"}
    assert types["d"] == {"object"}


def test_strings_are_found_with_names_and_values() -> None:
    assert list(iter_strings({"a": ["x", {"b/c": "y"}], "n": 1})) == [
        ("a", "a"),
        ("a/0", "x"),
        ("a/1/b~1c", "b/c"),
        ("a/1/b~1c", "y"),
        ("n", "n"),
    ]
