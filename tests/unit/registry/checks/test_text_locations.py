"""The texts of an entry, and the paths that lead to them."""

from registry.checks.text_locations import CheckedOp
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
