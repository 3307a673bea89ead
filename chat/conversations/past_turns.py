"""A conversation as the model reads it: past turns with their calls and results."""

from collections.abc import Callable, Iterable
from itertools import groupby
from typing import Any

import orjson

from chat.connections import gives_connection_back
from chat.context.history import Call, PastTurn, Step
from chat.models import Conversation, Message, ToolCall

MAX_TURNS = 40  # that are loaded; the budget of the history is far smaller

DECLINED = "The user did not agree. Nothing was done. Do not repeat the call."
NOT_CONFIRMED = orjson.dumps({"ok": False, "error": {"code": "CONFLICT", "message": DECLINED}}).decode()
UNFINISHED = orjson.dumps(
    {"ok": False, "error": {"code": "INTERNAL", "message": "The turn ended before this call. Check what was done."}}
).decode()


@gives_connection_back
def load_past_turns(conversation: Conversation, *, before: int, learn: Callable[[Any], None]) -> list[PastTurn]:
    """Return the turns that begin before a position and are not in the summary, oldest first.

    `learn` gets the answers of all their calls, for the names of rows.
    """
    if before <= 1:
        return []
    messages = list(
        conversation.messages.filter(position__gt=conversation.summarised_until, position__lt=before)
        .prefetch_related("calls")
        .order_by("-position")[: 2 * MAX_TURNS]
    )[::-1]
    turns, question = [], None
    for message in messages:
        if message.role == Message.Role.USER:
            if question is not None:
                turns.append(PastTurn(question, (), ""))
            question = message.text
        else:
            for call in message.calls.all():
                learn(call.envelope)
            turns.append(build_past_turn(question, message))
            question = None
    return turns


def build_past_turn(question: str | None, message: Message) -> PastTurn:
    """Return a turn with its rounds: what the model wrote before its calls, the calls, and the answer at the end."""
    steps, start = [], 0
    for _, group in groupby(message.calls.all(), key=lambda call: call.round):
        calls = list(group)
        steps.append(Step(message.text[start : calls[0].text_before].strip(), tuple(_build_calls(calls))))
        start = calls[0].text_before
    return PastTurn(question, tuple(steps), message.text[start:].strip())


def _build_calls(calls: Iterable[ToolCall]) -> Iterable[Call]:
    for call in calls:
        is_waiting = call.status == ToolCall.Status.CONFIRM
        result = NOT_CONFIRMED if is_waiting else call.result or UNFINISHED
        yield Call(call.call_id, call.name, call.args, result)
