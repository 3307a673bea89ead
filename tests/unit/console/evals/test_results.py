"""Ops that search confuses: grouped by the expected op, and folded if they are about a single case."""

import pytest

from console.evals import results
from registry.evals.comparison import CaseOutcome, ComparedCase, EvalComparison
from registry.models import EvalCase

pytestmark = pytest.mark.django_db


def build_case(number: int, op: str, found: str, *, was_first: bool = False) -> ComparedCase:
    case = EvalCase(pk=number, request=f"request {number}", op=op)
    before = CaseOutcome((op,), 1) if was_first else CaseOutcome((found, op), 2)
    return ComparedCase(case, CaseOutcome((found, op), 2), before)


def test_confused_ops_are_grouped_with_new_ones_first_and_single_cases_folded() -> None:
    cases = (
        build_case(1, "a.once", "b.other"),
        build_case(2, "a.often", "b.other"),
        build_case(3, "a.often", "b.third"),
        build_case(4, "a.often", "b.third"),
        build_case(7, "a.often", "b.fourth"),
        build_case(8, "a.often", "b.fourth"),
        build_case(5, "a.new", "b.other", was_first=True),
        ComparedCase(EvalCase(pk=6, request="right", op="a.right"), CaseOutcome(("a.right",), 1), None),
    )

    context = results.build_result_context(EvalComparison((), cases, ()))

    shown = [(each.op.path, [row.taken_by.path for row in each.taken]) for each in context["eval_confused"]]
    folded = [(each.op.path, [row.taken_by.path for row in each.taken]) for each in context["eval_confused_once"]]
    assert shown == [("a.new", ["b.other"]), ("a.often", ["b.fourth", "b.third"])]
    assert folded == [("a.often", ["b.other"]), ("a.once", ["b.other"])]
