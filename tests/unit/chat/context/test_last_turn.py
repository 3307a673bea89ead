"""What the last turn did, in at most 300 tokens."""

import json
from typing import Any

import pytest

from chat.context import budgets
from chat.context.history import PastTurn, describe_last_turn
from chat.context.layers import PastCall, PastStep
from core.text import token_budget

TASK = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"


def _answer(op: str, *, ok: bool = True, entity_id: str = "", entity_name: str = "", **more: Any) -> dict[str, Any]:
    operation = {"entity": op.split(".")[1], "entity_id": entity_id, "entity_name": entity_name}
    return {"op": op, "ok": ok, "meta": {"operation": {k: v for k, v in operation.items() if v}}, **more}


def _turn(*answers: Any, answer: str = "Done.") -> PastTurn:
    calls = tuple(PastCall(f"c{n}", "tool_exec", "{}", json.dumps(each)) for n, each in enumerate(answers))
    return PastTurn("Do it", (PastStep("", calls),), answer)


def test_describe_last_turn_names_ops_rows_and_the_open_question() -> None:
    turn = _turn(
        _answer("onto.task.list"),
        _answer("onto.task.update", entity_id=TASK, entity_name="Draft the homepage copy"),
        _answer("onto.task.delete", ok=False, entity_id="other", error={"code": "FORBIDDEN"}),
        answer="It is done. The other one I may not delete.\n\nShall I ask Ines? She owns it, or is that wrong?",
    )
    assert describe_last_turn(turn, {}) == (
        "Last turn:\n"
        "- Ran onto.task.list, onto.task.update, onto.task.delete (failed)\n"
        f"- Touched task “Draft the homepage copy” {TASK}\n"
        "- Open question: She owns it, or is that wrong?"
    )


def test_describe_last_turn_reads_each_answer_of_a_batch_and_invents_no_name() -> None:
    named = _answer("onto.project.get", entity_id="p1", result={"project": {"id": "p1", "name": "Website relaunch"}})
    results = [_answer("onto.task.get", entity_id="t1"), named, _answer("onto.task.get", entity_id="t2")]
    text = describe_last_turn(_turn({"batch_id": "b", "ok": True, "results": results}), {"t1": "Order the worktop"})
    assert "onto.task.get, onto.project.get" in text
    for row in ("task “Order the worktop” t1", "“Website relaunch” p1", "task t2"):
        assert row in text


@pytest.mark.parametrize("result", ["", "{", "[]", "null", '{"batch_id": "b", "results": 7}', '{"meta": []}'])
def test_describe_last_turn_names_the_tool_if_the_answer_has_no_op(result: str) -> None:
    turn = PastTurn("Hi", (PastStep("", (PastCall("c", "search_tools", "{}", result),)),), "")
    assert describe_last_turn(turn, {}) in {"Last turn:\n- Ran search_tools", ""}


@pytest.mark.parametrize("answer", ["", "Hello.", "Is it? Yes, it is.\n\nAll is done.", "See https://a.example/?q=1"])
def test_describe_last_turn_is_empty_if_nothing_was_run_or_asked(answer: str) -> None:
    assert describe_last_turn(PastTurn("Hi", (), answer), {}) == ""


@pytest.mark.parametrize("name", ["word " * 100, "𒀀𒐫" * 200, "\n# Heading\n" * 50])
def test_describe_last_turn_fits_whatever_was_touched(name: str) -> None:
    answers = [_answer(f"onto.task.op_{n}", entity_id=f"{n}-{TASK}", entity_name=name) for n in range(40)]
    text = describe_last_turn(_turn(*answers, answer=f"Which one {name.strip()}?".replace("\n", " ")), {})
    assert token_budget.count(text) + budgets.MESSAGE <= budgets.LAST_TURN
    assert len(text.splitlines()) <= 4
    assert "onto.task.op_39" in text
