"""What help may cost."""

import pytest

from registry import checks, sizes
from registry.checks import budgets
from tests.unit.registry.checks.readings import context
from tests.unit.registry.entries import catalog, op, schema


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

    counted = sizes.count_entry_tokens(entry)
    (found,) = checks.check_entry(entry, context(entry))

    assert counted["a.b"] == sizes.count_catalog_tokens(catalog(entry, op("a.c")))["a.b"]
    assert (found.rule, found.message) == (
        "full_over_budget",
        f"It has {counted['a.b'][1]} tokens; the budget is 450.",
    )


def test_a_retired_op_costs_nothing() -> None:
    assert sizes.count_entry_tokens(op("a.b", status="retired")) == {}
