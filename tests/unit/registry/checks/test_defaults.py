"""Defaults that their own schema refuses."""

from typing import Any

import pytest

from registry.checks import single_op
from tests.support.rows.check_findings import build_op_with_arguments

STATE = {"type": "string", "enum": ["todo", "done"]}


@pytest.mark.parametrize(
    ("argument", "rule", "message", "fix"),
    [
        (
            STATE | {"default": "Todo"},
            "default_outside_enum",
            "Todo is not one of the values of a: todo, done.",
            "Did you mean todo?",
        ),
        (
            {"type": "string", "enum": ["x"], "default": "far off"},
            "default_outside_enum",
            "far off is not one of the values of a: x.",
            "Use one of the values.",
        ),
        (
            {"type": "array", "items": STATE, "default": ["gone"]},
            "default_refused",
            '[\'gone\'] is not a valid a: /v/0: "gone" is not one of "todo" or "done".',
            "Use a default that the schema allows.",
        ),
        (
            {"type": "integer", "maximum": 5, "default": 9},
            "default_refused",
            "9 is not a valid a: 9 is greater than the maximum of 5.",
            "Use a default that the schema allows.",
        ),
    ],
)
def test_default_that_its_schema_refuses_is_found(argument: Any, rule: str, message: str, fix: str) -> None:
    (finding,) = single_op.check_defaults(build_op_with_arguments(a=argument))

    assert (finding.rule, finding.message, finding.fix) == (rule, message, fix)
    assert finding.field == "parameters_schema/properties/a/default"


def test_invalid_default_is_found_at_every_level_and_through_references() -> None:
    inner = {"type": "object", "properties": {"s~/t": {"$ref": "#/$defs/state", "default": "gone"}}}
    op = build_op_with_arguments(a={"type": "array", "items": inner})
    op.schema["$defs"] = {"state": STATE}

    (finding,) = single_op.check_defaults(op)

    assert finding.field == "parameters_schema/properties/a/items/properties/s~0~1t/default"


@pytest.mark.parametrize(
    "argument",
    [STATE | {"default": "done"}, STATE, {"default": None}, {"type": "array", "items": STATE, "default": ["todo"]}],
)
def test_valid_default_is_accepted(argument: Any) -> None:
    assert list(single_op.check_defaults(build_op_with_arguments(a=argument))) == []
