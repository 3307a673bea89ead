"""The messages of a running turn, as Chat Completions has them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from chat.context.history import MAX_ARGUMENT_TOKENS
from chat.context.shortening import arguments
from chat.context.tool_results import fit_results
from chat.turns.tool_runner import Outcome


@dataclass(slots=True)
class ModelRound:
    """One answer of the model with tool calls, what came back, and what the chat tells the model about it."""

    text: str
    outcomes: Sequence[Outcome]
    notes: list[str] = field(default_factory=list)


def build_messages(base: Sequence[dict[str, Any]], rounds: Sequence[ModelRound]) -> list[dict[str, Any]]:
    """Return the messages of the next request: those before the turn's first answer, and its rounds.

    The results of all rounds share one budget of tokens; the newest get room first. Arguments are whole in the last
    round, where the model may have to correct them.
    """
    results = fit_results([outcome.answer for each in rounds for outcome in each.outcomes])
    messages, at = list(base), 0
    for each in rounds:
        calls = [
            {
                "id": outcome.planned.call.id,
                "type": "function",
                "function": {
                    "name": outcome.planned.call.name,
                    "arguments": _shorten(outcome.planned.json_arguments, is_last=each is rounds[-1]),
                },
            }
            for outcome in each.outcomes
        ]
        messages.append({"role": "assistant", "content": each.text or None, "tool_calls": calls})
        for outcome in each.outcomes:
            messages.append({"role": "tool", "tool_call_id": outcome.planned.call.id, "content": results[at]})
            at += 1
        if each.notes:
            messages.append({"role": "system", "content": "\n".join(each.notes)})
    return messages


def _shorten(json_arguments: str, *, is_last: bool) -> str:
    return json_arguments if is_last else arguments.shorten(json_arguments, MAX_ARGUMENT_TOKENS)
