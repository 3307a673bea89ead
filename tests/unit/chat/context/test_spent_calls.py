"""Past turns without look-ups and repaired failures."""

import json
from typing import Any

import pytest

from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.spent_calls import leave_out_spent_calls

HELP = PastCall("c0", "tool_help", '{"query":"add a task"}', '{"query":"add a task","items":[]}')


def _exec(id: str, *, op: str = "onto.task.create", reason: str = "") -> PastCall:
    error = {"error": {"code": "VALIDATION_ERROR", "details": {"reason": reason}}} if reason else {}
    return PastCall(id, "tool_exec", "{}", json.dumps({"op": op, "ok": not reason, **error}))


def _left(*steps: Any, more: bool = False) -> list[list[str]]:
    """Return the ids of the calls that are left of a turn, which another one follows if there are `more`."""
    turn = PastTurn("Add it", tuple(PastStep("", tuple(calls)) for calls in steps), "Added.")
    reduced = leave_out_spent_calls([turn, PastTurn("Thanks", (), "")] if more else [turn])[0]
    return [[call.id for call in step.calls] for step in reduced.steps]


def test_look_ups_and_repaired_failures_are_left_out() -> None:
    assert _left([HELP], [_exec("c1", reason="invalid_args")], [_exec("c2")]) == [["c2"]]


def test_look_ups_of_the_last_turn_stay_if_it_ran_nothing() -> None:
    assert _left([HELP]) == [["c0"]]
    assert _left([HELP], more=True) == []


@pytest.mark.parametrize(
    "steps",
    [
        [[_exec("c1", reason="invalid_args")], [_exec("c2", op="onto.task.list")]],  # not made again
        [[_exec("c1", reason="not_decided")], [_exec("c2")]],  # what the user decided
        [[_exec("c1", reason="not_found")], [_exec("c2")]],  # of another row, perhaps
        [[_exec("c1", reason="invalid_args"), _exec("c2")], [_exec("c3")]],  # which of two was made again?
        [[_exec("c1", reason="invalid_args")], [_exec("c2"), _exec("c3")]],
    ],
)
def test_other_failures_stay(steps: list[list[PastCall]]) -> None:
    assert _left(*steps) == [[call.id for call in calls] for calls in steps]


def test_what_the_model_wrote_before_a_spent_call_stays() -> None:
    turn = PastTurn("Add it", (PastStep("I look it up.", (HELP,)), PastStep("", (_exec("c1"),))), "Added.")
    assert [step.text for step in leave_out_spent_calls([turn])[0].steps] == ["I look it up.", ""]
