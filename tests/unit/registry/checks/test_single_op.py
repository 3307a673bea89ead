"""Checks of one op alone: token budgets, defaults that its schema refuses, and whether it can run."""

from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from registry import checks
from registry.catalog import switches
from registry.checks import single_op
from registry.help import token_counts
from registry.models import Connection
from tests.support.rows.check_findings import build_check_context, build_op_with_arguments
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema
from tests.support.rows.switches import create_switch
from tests.support.upstreams import any_upstream


@pytest.mark.parametrize(
    ("counts", "messages"),
    [
        ((180, 450), []),
        ((181, 450), ["181 tokens; the budget is 180."]),
        ((180, 1_451), ["1,451 tokens; the budget is 450."]),
        ((200, 500), ["200 tokens; the budget is 180.", "500 tokens; the budget is 450."]),
    ],
)
def test_short_and_full_help_have_separate_budgets(counts: tuple[int, int], messages: list[str]) -> None:
    assert [finding.message for finding in single_op.check_budgets("a.b", counts)] == messages


def test_op_tokens_are_counted_on_the_served_help() -> None:
    entry = build_op_entry(
        "a.b", description="word " * 500, parameters_schema=build_schema(("b",), a={}, b={}), policy={"do": ["Do."]}
    )

    counted = token_counts.count_entry_tokens(entry)
    (finding,) = checks.check_entry(entry, build_check_context(entry))

    assert counted["a.b"] == token_counts.count_catalog_tokens(build_catalog(entry, build_op_entry("a.c")))["a.b"]
    assert (finding.rule, finding.message) == ("full_over_budget", f"{counted['a.b'][1]} tokens; the budget is 450.")
    assert token_counts.count_entry_tokens(entry | {"status": "retired"}) == {}


STATE = {"type": "string", "enum": ["todo", "done"]}


OUTSIDE, REFUSED = "default_outside_enum", "default_refused"
USE_ALLOWED = "Use a default that the schema allows."
NOT_ONE = 'is not a valid a: /v/0: "gone" is not one of "todo" or "done".'


@pytest.mark.parametrize(
    ("argument", "default", "rule", "message", "fix"),
    [
        (STATE, "Todo", OUTSIDE, "Todo is not one of the values of a: todo, done.", "Did you mean todo?"),
        ({"enum": ["x"]}, "far off", OUTSIDE, "far off is not one of the values of a: x.", "Use one of the values."),
        ({"type": "array", "items": STATE}, ["gone"], REFUSED, f"['gone'] {NOT_ONE}", USE_ALLOWED),
        ({"maximum": 5}, 9, REFUSED, "9 is not a valid a: 9 is greater than the maximum of 5.", USE_ALLOWED),
    ],
)
def test_default_that_its_schema_refuses_is_found(
    argument: Any, default: Any, rule: str, message: str, fix: str
) -> None:
    (finding,) = single_op.check_defaults(build_op_with_arguments(a=argument | {"default": default}))

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


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "missing"),
    [
        ({}, "no connection is set"),
        ({"connection": "nowhere"}, 'the connection "nowhere" does not exist'),
        ({"connection": "workspace"}, 'the connection "workspace" has no handler for the tool "a_b"'),
        ({"connection": "workspace", "tool_name": "list_onto_tasks"}, ""),
        ({"connection": any_upstream.CONNECTION}, ""),
        ({"status": "retired"}, ""),
    ],
)
def test_finding_says_what_an_active_op_lacks(fields: dict[str, Any], missing: str) -> None:
    Connection.objects.create(name="workspace")
    any_upstream.get_or_create_connection()

    findings = checks.find_unrunnable_ops([build_op_entry("a.b", **fields)])

    assert [(finding.op, finding.field, finding.rule, finding.message) for finding in findings] == (
        [("a.b", "connection", "cannot_run", f"Cannot run: {missing}.")] if missing else []
    )
    assert all(finding.is_blocking for finding in findings)


@pytest.mark.django_db
def test_switched_off_op_need_not_run() -> None:
    create_switch("a")

    findings = checks.find_unrunnable_ops([build_op_entry("a.b"), build_op_entry("c.d")])

    assert [finding.op for finding in findings] == ["c.d"]


@pytest.mark.django_db
def test_connections_are_read_once_for_all_ops(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    switches.get_switches()

    with django_assert_num_queries(3):
        assert len(checks.find_unrunnable_ops(build_op_entry(f"a.b{number}") for number in range(50))) == 50
