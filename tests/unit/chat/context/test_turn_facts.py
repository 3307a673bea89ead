"""What a past turn did, in at most 300 tokens."""

import json
from typing import Any

import pytest

from chat.context import budgets
from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.turn_facts import describe_turn
from core.text import token_budget

TASK = "7e3b9f20-1c4d-4a8b-8e55-2d90c6fa3b01"


def _answer(op: str, *, ok: bool = True, entity_id: str = "", entity_name: str = "", **more: Any) -> dict[str, Any]:
    _, entity, action = op.split(".")
    operation = {"entity": entity, "action": action, "entity_id": entity_id, "entity_name": entity_name}
    return {"op": op, "ok": ok, "meta": {"operation": {k: v for k, v in operation.items() if v}}, **more}


def _turn(*answers: Any, answer: str = "Done.") -> PastTurn:
    calls = tuple(PastCall(f"c{n}", "tool_exec", "{}", json.dumps(each)) for n, each in enumerate(answers))
    return PastTurn("Do it", (PastStep("", calls),), answer)


def test_describe_turn_names_ops_changed_rows_and_the_open_question() -> None:
    turn = _turn(
        _answer("onto.task.list"),
        _answer("onto.task.get", entity_id="read", entity_name="Only read"),
        _answer("onto.task.update", entity_id=TASK, entity_name="Draft the homepage copy"),
        _answer("onto.task.delete", ok=False, entity_id="other", error={"code": "FORBIDDEN"}),
        answer="It is done. The other one I may not delete.\n\nShall I ask Ines? She owns it, or is that wrong?",
    )
    assert describe_turn(turn) == (
        "- Ran onto.task.list, onto.task.get, onto.task.update, onto.task.delete (failed)\n"
        f"- Changed task “Draft the homepage copy” {TASK}\n"
        "- Open question: She owns it, or is that wrong?"
    )


def test_describe_turn_reads_each_answer_of_a_batch_and_invents_no_name() -> None:
    named = _answer("onto.goal.create", entity_id="g1", result={"goal": {"id": "g1", "name": "Cook at home"}})
    results = [_answer("onto.task.update", entity_id="t1"), named]
    text = describe_turn(_turn({"batch_id": "b", "ok": True, "results": results}))
    assert text == "- Ran onto.task.update, onto.goal.create\n- Changed task t1; goal “Cook at home” g1"


@pytest.mark.parametrize("result", ["", "{", "[]", "null", '{"batch_id": "b", "results": 7}', '{"meta": []}'])
def test_describe_turn_names_the_tool_if_the_answer_has_no_op(result: str) -> None:
    turn = PastTurn("Hi", (PastStep("", (PastCall("c", "search_tools", "{}", result),)),), "")
    assert describe_turn(turn) in {"- Ran search_tools", ""}


@pytest.mark.parametrize("answer", ["", "Hello.", "Is it? Yes, it is.\n\nAll is done.", "See https://a.example/?q=1"])
def test_describe_turn_is_empty_if_nothing_was_run_or_asked(answer: str) -> None:
    assert describe_turn(PastTurn("Hi", (), answer)) == ""


@pytest.mark.parametrize("name", ["word " * 100, "𒀀𒐫" * 200, "\n# Heading\n" * 50])
def test_describe_turn_fits_whatever_was_changed(name: str) -> None:
    answers = [_answer(f"onto.task.op_{n}", entity_id=f"{n}-{TASK}", entity_name=name) for n in range(40)]
    text = describe_turn(_turn(*answers, answer=f"Which one {name.strip()}?".replace("\n", " ")))
    assert token_budget.count(text) <= budgets.TURN_FACTS
    assert len(text.splitlines()) <= 3
    assert "onto.task.op_39" in text
