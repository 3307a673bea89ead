from typing import Any

import pytest

from gateway.arguments import coercion


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5.0, "5"),
        (-0.0, "0"),
        (5.5, "5.5"),
        (1e300, "1e+300"),
        (2.0**53, "9007199254740992.0"),
        (True, "True"),
        ("5", "'5'"),
    ],
)
def test_whole_numbers_become_integers_where_the_schema_requires_them(value: Any, expected: str) -> None:
    assert repr(coercion.convert_whole_numbers({"type": "integer"}, value)) == expected
    assert repr(coercion.convert_whole_numbers({"type": ["null", "integer"]}, value)) == expected
    assert coercion.convert_whole_numbers({"type": "number"}, value) is value


@pytest.mark.parametrize(
    ("args", "expected", "warnings"),
    [
        (
            {"priority": ["High", 2, "low", "soon"]},
            {"priority": [1, 2, 5, "soon"]},
            ["Read priority as 1.", "Read priority as 5."],
        ),
        ({"priority": "medium"}, {"priority": 3}, ["Read priority as 3."]),
    ],
)
def test_value_aliases_are_translated_also_in_lists(
    args: dict[str, Any], expected: dict[str, Any], warnings: list[str]
) -> None:
    urgency = {"type": "integer", "x-aliases": {"low": 5, "medium": 3, "high": 1}}
    schema = {"type": "object", "properties": {"priority": {"type": ["integer", "array"], "items": urgency} | urgency}}

    assert coercion.translate_values(schema, args) == warnings
    assert args == expected


def test_value_of_an_argument_is_never_translated() -> None:
    status = {"type": "string", "enum": ["Done", "Closed"], "x-aliases": {"closed": "Done"}}
    args = {"status": "Closed"}

    assert coercion.translate_values({"type": "object", "properties": {"status": status}}, args) == []
    assert args == {"status": "Closed"}
