"""What providers refuse in a tool definition."""

from typing import Any

import pytest

from registry.checks import providers
from registry.checks.finding import Finding
from tests.support.rows.check_findings import build_checked_op, build_op_with_arguments
from tests.support.rows.op_entries import build_schema


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = build_schema(a=schema)
    return schema


def check(schema: dict[str, Any]) -> list[Finding]:
    return list(providers.check(build_checked_op(parameters_schema=schema)))


@pytest.mark.parametrize(
    ("name", "fix"),
    [("auth0.createRole", "For example: auth0_createRole."), ("x" * 65, f"For example: {'x' * 64}."), ("a_b-C9", None)],
)
def test_tool_name_allows_letters_digits_underscores_and_dashes(name: str, fix: str | None) -> None:
    findings = list(providers.check(build_checked_op(tool_name=name)))

    assert [(each.rule, each.field, each.fix) for each in findings] == (
        [("tool_name_refused", "tool_name", fix)] if fix else []
    )


@pytest.mark.parametrize(
    ("name", "refused"), [("filter[id]", True), ("$top", True), ("x" * 65, True), ("a.b-c_D", False)]
)
def test_argument_name_allows_no_other_characters(name: str, refused: bool) -> None:
    findings = list(providers.check(build_op_with_arguments(**{name: {"type": "string"}})))

    assert [each.rule for each in findings] == ["property_name_refused"] * refused


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
def test_schema_allows_no_union_at_the_top(keyword: str) -> None:
    parts = [{"required": ["a"]}, {"required": ["b"]}]

    (finding,) = check(build_schema(a={}, b={}) | {keyword: parts})
    below = check(build_schema(a={keyword: [{"type": "string"}, {"type": "null"}]}))

    assert (finding.rule, finding.field) == ("top_level_union", f"parameters_schema/{keyword}")
    assert below == []


def test_schema_nests_objects_at_most_ten_levels_deep() -> None:
    assert check(nested(10)) == []
    assert [(finding.rule, finding.message) for finding in check(nested(11))] == [
        ("schema_too_deep", "Its objects are nested 11 levels deep.")
    ]


def test_enum_size_is_limited() -> None:
    many = {"enum": [f"v{number}" for number in range(400)]}
    long = {"enum": [f"{number:03} {'x' * 60}" for number in range(251)]}

    assert check(build_schema(a=many, b=many)) == []
    assert [finding.message for finding in check(build_schema(a=many, b=many, c=many))] == [
        "Its enums have 1,200 values in total."
    ]
    assert [finding.field for finding in check(build_schema(a=long))] == ["parameters_schema/properties/a/enum"]
