"""Eval cases run on a catalog with its search; two runs say what was won, what was lost, and to which op."""

from typing import Any

import pytest

from registry.catalog.model import Catalog
from registry.evals import comparison
from registry.evals.comparison import CaseOutcome, EvalComparison, EvalRun, LossCause, run_cases
from registry.models import EvalCase
from tests.support.rows.op_entries import build_catalog, build_op_entry


def make_case(request: str = "Ring the printers", op: str = "a.b", **fields: Any) -> EvalCase:
    return EvalCase(request=request, op=op, **fields)


def make_catalog(**summaries: str) -> Catalog:
    return build_catalog(*(build_op_entry(f"x.{name}", summary=text) for name, text in summaries.items()))


def make_run(**ranks: int | None) -> EvalRun:
    """Return a run in which x.y is found, and before it other ops up to its rank."""
    return EvalRun({name: make_outcome(rank) for name, rank in ranks.items()}, frozenset())


def make_outcome(rank: int | None) -> CaseOutcome:
    others = [f"x.other{number}" for number in range(8 if rank is None else rank - 1)]
    return CaseOutcome((*others, *([] if rank is None else ["x.y"])), rank)


def compare(before: dict[str, int | None], after: dict[str, int | None], **fields: Any) -> EvalComparison:
    cases = [make_case(name, "x.y", **fields) for name in after]
    return comparison.compare_runs(cases, make_run(**after), make_run(**before))


def test_a_case_has_the_rank_of_the_first_right_op_in_the_search() -> None:
    catalog = make_catalog(call="Ring a person by telephone", mail="Send a letter by post", note="Jot down an idea")
    cases = [
        make_case("ring by telephone", "x.call"),
        make_case("send letter by post", "x.note", also_accepted=["x.mail"]),
        make_case("telephone", "x.note"),
    ]

    run = run_cases(catalog, cases)

    ranks = [run.outcomes[case.request].rank for case in cases]
    assert ranks[:2] == [1, 1]
    assert run.outcomes["telephone"].found[0] == "x.call"
    assert ranks[2] != 1
    assert not run.missing_ops


def test_an_op_that_is_gone_or_retired_is_missing_and_not_found() -> None:
    retired = build_op_entry("x.old", summary="Ring a person", status="retired")
    catalog = build_catalog(retired, build_op_entry("x.new", summary="Ring a person"))
    cases = [make_case("ring somebody", "x.old"), make_case("ring a person", "x.gone")]

    run = run_cases(catalog, cases)

    assert run.missing_ops == {"x.old", "x.gone"}
    assert [run.outcomes[case.request].rank for case in cases] == [None, None]


def test_hit_rates_count_the_cases_of_each_set_at_1_3_and_5() -> None:
    ranks: dict[str, int | None] = {"a": 1, "b": 2, "c": 5, "d": 6, "e": None}
    cases = [make_case(name, "x.y", case_set="held_back" if name == "e" else "tuned") for name in ranks]

    compared = comparison.compare_runs(cases, make_run(**ranks), None)

    assert compared.as_figures() == {
        "tuned": {"cases": 4, "hits": [1, 2, 3], "hits_before": None},
        "held_back": {"cases": 1, "hits": [0, 0, 0], "hits_before": None},
    }


def test_cases_are_won_and_lost_when_they_cross_1_3_or_5() -> None:
    before = {"up": 4, "far up": None, "down": 1, "within": 2, "same": None}
    after = {"up": 3, "far up": 1, "down": 6, "within": 3, "same": 8}

    compared = compare(before, after)

    assert [each.case.request for each in compared.won] == ["far up", "up"]
    assert [each.case.request for each in compared.lost] == ["down"]


def test_the_op_that_is_found_first_took_the_case() -> None:
    compared = compare({"new": 1, "old": 2, "fine": 1, "nothing": 1}, {"new": 2, "old": 2, "fine": 1, "nothing": None})
    empty = EvalRun({"Ring the printers": CaseOutcome((), None)}, frozenset())

    [taken] = compared.taken
    assert (taken.op, taken.taken_by, taken.new_count) == ("x.y", "x.other0", 2)
    assert {each.case.request for each in taken.cases} == {"new", "old", "nothing"}
    assert comparison.compare_runs([make_case()], empty, None).taken == []


def run_with(found: list[str], **versions: int) -> EvalRun:
    """Return a run that shows these ops, whose texts have these versions. x.y is the right one."""
    rank = found.index("x.y") + 1 if "x.y" in found else None
    return EvalRun({"call": CaseOutcome(tuple(found), rank)}, frozenset(), {f"x.{n}": v for n, v in versions.items()})


@pytest.mark.parametrize(
    ("after", "cause", "ops"),
    [
        (run_with(["x.new", "x.a", "x.y"], y=1, a=1, new=1), LossCause.NEW, ["x.new"]),
        (run_with(["x.a", "x.y"], y=1, a=2), LossCause.EDITED, ["x.a"]),
        (run_with(["x.a", "x.y"], y=2, a=1), LossCause.EDITED, ["x.y"]),
        (run_with(["x.a", "x.y"], y=1, a=1, new=1), LossCause.NOISE, ["x.a"]),
        (run_with([], y=1, a=1), LossCause.NOISE, []),  # it is no longer good enough to be shown
        (run_with(["x.new"], a=1, new=1), LossCause.GONE, []),
    ],
)
def test_a_lost_case_says_what_beat_it(after: EvalRun, cause: LossCause, ops: list[str]) -> None:
    before = run_with(["x.y", "x.a"], y=1, a=1)

    [lost] = comparison.compare_runs([make_case("call", "x.y")], after, before).lost

    assert lost.loss is not None
    assert (lost.loss.cause, list(lost.loss.ops)) == (cause, ops)
    assert comparison.compare_runs([make_case("call", "x.y")], before, after).cases[0].loss is None


def test_search_in_a_larger_catalog_says_which_ops_are_new() -> None:
    small, large = make_catalog(call="Ring a person"), make_catalog(call="Ring a person", ring="Ring a person twice")
    runs = [run_cases(catalog, [make_case("ring", "x.call")]) for catalog in (large, small)]

    assert runs[0].op_hashes.keys() == {"x.call", "x.ring"}
    assert runs[0].op_hashes["x.call"] == runs[1].op_hashes["x.call"]


@pytest.mark.parametrize(("margin", "loses"), [(0, True), (1, True), (2, False), (100, False)])
def test_a_loss_counts_if_one_rate_of_one_set_falls_by_more_than_the_margin(margin: int, loses: bool) -> None:
    before: dict[str, int | None] = {f"n{number}": 1 for number in range(50)}

    one_of_fifty = compare(before, before | {"n0": 2})  # 2 points at 1, none at 3 and 5

    assert one_of_fifty.loses_more_than(margin) is loses


def test_what_one_set_wins_does_not_make_up_for_what_the_other_loses() -> None:
    cases = [make_case("won", "x.y"), make_case("lost", "x.y", case_set="held_back")]

    compared = comparison.compare_runs(cases, make_run(won=1, lost=None), make_run(won=None, lost=1))

    assert compared.loses_more_than(99)
