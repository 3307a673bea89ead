"""Leave out of past turns the calls that have done their work: look-ups of help, and failures that were repaired.

Every request of a conversation repeats its past turns, so what no later turn needs is paid for again and again. The
calls that ran show how an op is called.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from chat.context.layers import PastCall, PastStep, PastTurn
from chat.context.shortening.json_text import parse

LOOK_UPS = ("tool_help", "discover_", "search_tools")
REPAIRABLE = "invalid_args"  # the reason of a failure that another call of the op can repair


def is_look_up(name: str) -> bool:
    """Return whether a tool only says which ops there are, and what they take."""
    return name.startswith(LOOK_UPS)


def leave_out_spent_calls(turns: Sequence[PastTurn]) -> list[PastTurn]:
    """Return the turns without spent calls.

    Look-ups of the last turn stay if it ran nothing: the next turn may go on with them.
    """
    return [_reduce(turn, is_last=number == len(turns)) for number, turn in enumerate(turns, start=1)]


def _reduce(turn: PastTurn, *, is_last: bool) -> PastTurn:
    rounds = [[(call, _read(call)) for call in step.calls] for step in turn.steps]
    has_run = any(answer.get("ok") for calls in rounds for call, answer in calls if not is_look_up(call.name))
    spent = set[int]()
    for number, calls in enumerate(rounds):
        for call, answer in calls:
            is_spent_look_up = is_look_up(call.name) and (has_run or not is_last)
            if is_spent_look_up or _is_repaired(answer, calls, rounds[number + 1 :]):
                spent.add(id(call))
    return replace(turn, steps=tuple(_iter_steps(turn, spent))) if spent else turn


def _is_repaired(
    answer: Mapping[str, Any],
    calls: Sequence[tuple[PastCall, Mapping[str, Any]]],
    later: Sequence[Sequence[tuple[PastCall, Mapping[str, Any]]]],
) -> bool:
    """Return whether a call was refused for its args and then made again: alone of its op, both times."""
    error = answer.get("error")
    details = error.get("details") if isinstance(error, Mapping) else None
    op = answer.get("op")
    if not isinstance(details, Mapping) or details.get("reason") != REPAIRABLE or len(_find(op, calls)) > 1:
        return False
    again = next((found for each in later if (found := _find(op, each))), [])
    return len(again) == 1 and again[0].get("ok") is True


def _find(op: Any, calls: Sequence[tuple[PastCall, Mapping[str, Any]]]) -> list[Mapping[str, Any]]:
    return [answer for _, answer in calls if answer.get("op") == op]


def _iter_steps(turn: PastTurn, spent: set[int]) -> Iterator[PastStep]:
    for step in turn.steps:
        calls = tuple(call for call in step.calls if id(call) not in spent)
        if calls or step.text:
            yield replace(step, calls=calls)


def _read(call: PastCall) -> Mapping[str, Any]:
    try:
        answer = parse(call.result)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) and "batch_id" not in answer else {}
