"""What help may cost."""

import pytest

from registry import checks
from registry.checks import budgets
from registry.help import token_counts
from tests.support.check_findings import context
from tests.support.op_entries import catalog, op, schema


@pytest.mark.parametrize(
    ("counts", "messages"),
    [
        ((180, 450), []),
        ((181, 450), ["181 tokens; the budget is 180."]),
        ((180, 1_451), ["1,451 tokens; the budget is 450."]),
        ((200, 500), ["200 tokens; the budget is 180.", "500 tokens; the budget is 450."]),
    ],
)
def test_each_form_has_its_budget(counts: tuple[int, int], messages: list[str]) -> None:
    assert [found.message for found in budgets.check("a.b", counts)] == messages


def test_an_op_is_counted_as_it_would_be_served() -> None:
    entry = op("a.b", description="word " * 500, parameters_schema=schema(("b",), a={}, b={}), policy={"do": ["Do."]})

    counted = token_counts.count_entry_tokens(entry)
    (found,) = checks.check_entry(entry, context(entry))

    assert counted["a.b"] == token_counts.count_catalog_tokens(catalog(entry, op("a.c")))["a.b"]
    assert (found.rule, found.message) == (
        "full_over_budget",
        f"{counted['a.b'][1]} tokens; the budget is 450.",
    )


def test_a_retired_op_costs_nothing() -> None:
    assert token_counts.count_entry_tokens(op("a.b", status="retired")) == {}
