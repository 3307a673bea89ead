"""What providers refuse of a tool."""

from typing import Any

import pytest

from registry.checks import providers
from registry.checks.finding import Finding
from tests.support.check_findings import arguments, reading
from tests.support.op_entries import schema


def nested(levels: int) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        found = schema(a=found)
    return found


def check(given: dict[str, Any]) -> list[Finding]:
    return list(providers.check(reading(parameters_schema=given)))


@pytest.mark.parametrize(
    ("name", "fix"),
    [("auth0.createRole", "Use auth0_createRole."), ("x" * 65, f"Use {'x' * 64}."), ("a_b-C9", None)],
)
def test_a_tool_name_has_letters_digits_underscores_and_dashes(name: str, fix: str | None) -> None:
    found = list(providers.check(reading(tool_name=name)))

    assert [(each.rule, each.field, each.fix) for each in found] == (
        [("tool_name_refused", "tool_name", fix)] if fix else []
    )


@pytest.mark.parametrize(
    ("name", "refused"), [("filter[id]", True), ("$top", True), ("x" * 65, True), ("a.b-c_D", False)]
)
def test_an_arguments_name_has_no_other_signs(name: str, refused: bool) -> None:
    found = list(providers.check(arguments(**{name: {"type": "string"}})))

    assert [each.rule for each in found] == ["property_name_refused"] * refused


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_a_union_stands_at_no_top(keyword: str) -> None:
    parts = [{"required": ["a"]}, {"required": ["b"]}]

    (found,) = check(schema(a={}, b={}) | {keyword: parts})
    below = check(schema(a={keyword: [{"type": "string"}, {"type": "null"}]}))

    assert (found.rule, found.field) == ("top_level_union", f"parameters_schema/{keyword}")
    assert below == []


def test_objects_lie_ten_deep_at_most() -> None:
    assert check(nested(10)) == []
    assert [(found.rule, found.message) for found in check(nested(11))] == [
        ("schema_too_deep", "Its objects are nested 11 levels deep.")
    ]


def test_enums_are_of_bounded_size() -> None:
    many = {"enum": [f"v{number}" for number in range(400)]}
    long = {"enum": [f"{number:03} {'x' * 60}" for number in range(251)]}

    assert check(schema(a=many, b=many)) == []
    assert [found.message for found in check(schema(a=many, b=many, c=many))] == [
        "Its enums have 1,200 values in total."
    ]
    assert [found.field for found in check(schema(a=long))] == ["parameters_schema/properties/a/enum"]
