"""Token budgets of help."""

import pytest

from registry import checks
from registry.checks import single_op
from registry.help import token_counts
from tests.support.rows.check_findings import build_check_context
from tests.support.rows.op_entries import build_catalog, build_op_entry, build_schema


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
    assert (finding.rule, finding.message) == (
        "full_over_budget",
        f"{counted['a.b'][1]} tokens; the budget is 450.",
    )


def test_retired_op_costs_no_tokens() -> None:
    assert token_counts.count_entry_tokens(build_op_entry("a.b", status="retired")) == {}
