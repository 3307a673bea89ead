"""Units, directions and formats: missing ones are found, stated ones are accepted."""

from typing import Any

import pytest

from registry.checks import units_and_formats
from tests.support.rows.check_findings import build_checked_op, build_op_with_arguments
from tests.support.rows.op_entries import build_schema

NUMBER, INTEGER, TEXT = {"type": "number"}, {"type": "integer"}, {"type": "string"}
DURATION = "The copy does not give the unit or range of duration."


def find_rules(name: str, argument: Any, description: str = "") -> list[str]:
    return [
        finding.rule
        for finding in units_and_formats.check(
            build_op_with_arguments(**{name: argument | {"description": description}})
        )
    ]


@pytest.mark.parametrize(
    ("name", "argument", "description"),
    [
        ("duration", INTEGER, "How long it takes"),
        ("amount", NUMBER, ""),
        ("size", INTEGER | {"minimum": 1}, "Size of the page"),
        ("weights", {"type": "array", "items": NUMBER}, "Of the parts"),
        ("delay", {"anyOf": [INTEGER, {"type": "null"}]}, ""),
        ("rate", {"type": ["number", "null"]}, "The rate (e.g., 0.8)"),
    ],
)
def test_number_without_unit_is_found(name: str, argument: Any, description: str) -> None:
    assert find_rules(name, argument, description) == ["number_without_unit"]


@pytest.mark.parametrize(
    ("name", "argument", "description"),
    [
        ("duration_minutes", INTEGER, ""),
        ("timeoutMs", INTEGER, ""),
        ("duration", INTEGER, "Minutes that it takes"),
        ("duration", INTEGER, "1 to 60"),
        ("duration", INTEGER | {"minimum": 1, "maximum": 60}, ""),
        ("level", INTEGER | {"enum": [1, 2]}, ""),
        ("limit", INTEGER, ""),
        ("user_id", INTEGER, ""),
        ("share", NUMBER, "In % of all"),
        ("mass", NUMBER, "Molar mass in g/mol"),
        ("kind", INTEGER, "1 means open, 2 shut"),
        ("duration", TEXT, "How long"),
        ("on", {"type": "boolean"}, ""),
    ],
)
def test_number_with_unit_is_accepted(name: str, argument: Any, description: str) -> None:
    assert find_rules(name, argument, description) == []


@pytest.mark.parametrize(
    ("description", "has_finding"),
    [
        ("1 to 5", True),
        ("Priority of the task", True),
        ("1 is the most urgent", False),
        ("From 1 (highest) to 5", False),
        ("higher means more urgent", False),
        ("low = 5, high = 1", False),
    ],
)
def test_priority_must_say_which_end_is_highest(description: str, has_finding: bool) -> None:
    expected = ["priority_without_direction"] if has_finding else []

    assert find_rules("priority", INTEGER | {"minimum": 1, "maximum": 5}, description) == expected
    assert find_rules("task_urgency", {"type": "array", "items": INTEGER}, description) == expected
    assert find_rules("priority", TEXT | {"enum": ["low", "high"]}, description) == []


@pytest.mark.parametrize(
    ("arguments", "copy"),
    [
        ({"priority": INTEGER}, {"policy": {"do": ["Of priorities, 1 is the priority at the top."]}}),
        ({"start_at": TEXT, "due_at": TEXT}, {"notes": "Dates are date-times with offset, or 2026-04."}),
    ],
)
def test_direction_and_format_may_be_anywhere_in_the_copy(arguments: dict[str, Any], copy: dict[str, Any]) -> None:
    op = build_checked_op(parameters_schema=build_schema(**arguments), **copy)

    assert list(units_and_formats.check(op)) == []


@pytest.mark.parametrize(
    "name", ["date", "start_date", "startDate", "due_at", "deadline", "end_time", "time_min", "birthday"]
)
def test_date_without_format_is_found(name: str) -> None:
    (finding,) = units_and_formats.check(build_op_with_arguments(**{name: TEXT}))

    assert (finding.rule, finding.field) == ("date_without_format", f"parameters_schema/properties/{name}")
    assert '"format": "date' in finding.fix


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("due_at", TEXT | {"format": "date-time"}),
        ("due_at", {"anyOf": [TEXT | {"format": "date"}, {"type": "null"}]}),
        ("date", TEXT | {"pattern": "^[0-9-]+$"}),
        ("date", TEXT | {"description": "YYYY-MM-DD"}),
        ("date", TEXT | {"description": "The day, e.g., January 1, 2026"}),
        ("date", TEXT | {"description": "A day, in any form"}),
        ("time_zone", TEXT),
        ("date_format", TEXT),
        ("update", TEXT),
        ("due_at", INTEGER | {"description": "Unix seconds"}),
    ],
)
def test_date_with_format_is_accepted(name: str, argument: Any) -> None:
    assert list(units_and_formats.check(build_op_with_arguments(**{name: argument}))) == []


def test_members_of_objects_in_lists_are_checked() -> None:
    (finding,) = units_and_formats.check(
        build_op_with_arguments(rows={"type": "array", "items": build_schema(duration=INTEGER)})
    )

    assert finding.message == DURATION
    assert finding.field == "parameters_schema/properties/rows/items/properties/duration/description"


def test_check_ends_on_a_recursive_schema() -> None:
    op = build_op_with_arguments(tree={"$ref": "#/$defs/node"}, twin={"anyOf": [{"$ref": "#/$defs/node"}, NUMBER]})
    op.schema["$defs"] = {"node": {"anyOf": [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}, INTEGER]}}

    assert {finding.field.split("/")[2] for finding in units_and_formats.check(op)} == {"tree", "twin"}
