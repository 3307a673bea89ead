"""Past turns as the model reads them, and the project of the task that they were about."""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

import orjson

from chat.connections import gives_connection_back
from chat.context.history import PastTurn
from chat.context.layers import TASK, PastCall, PastStep, Place
from chat.conversations import turn_store
from chat.gateway.client import CONTEXT, GatewayClient
from chat.gateway.envelopes import format_context_header
from chat.models import Conversation, Message, ToolCall

MAX_TURNS = 40  # that are loaded; the budget of the history is far smaller
DECLINED = "The user did not agree. Nothing was done. Do not repeat the call."
NOT_CONFIRMED = orjson.dumps({"ok": False, "error": {"code": "CONFLICT", "message": DECLINED}}).decode()
UNFINISHED = orjson.dumps(
    {"ok": False, "error": {"code": "INTERNAL", "message": "The turn ended before this call. Check what was done."}}
).decode()
READ_SECONDS = 15
BRIEF = {"include_subtasks": False, "include_links": False, "max_chars": 500}


@gives_connection_back
def load_past_turns(conversation: Conversation, *, before: int, learn: Callable[[Any], None]) -> list[PastTurn]:
    """Return the turns that begin before a position and are not in the summary, oldest first.

    `learn` gets the answers of all their calls, for the names of rows.
    """
    if before <= 1:
        return []
    messages = list(
        conversation.messages.shown()
        .filter(position__gt=conversation.summarised_until, position__lt=before)
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
        steps.append(PastStep(message.text[start : calls[0].text_before].strip(), tuple(_build_calls(calls))))
        start = calls[0].text_before
    return PastTurn(question, tuple(steps), message.text[start:].strip())


def _build_calls(calls: Iterable[ToolCall]) -> Iterable[PastCall]:
    for call in calls:
        is_waiting = call.status == ToolCall.Status.CONFIRM
        result = NOT_CONFIRMED if is_waiting else call.result or UNFINISHED
        yield PastCall(call.call_id, call.name, call.args, result)


def complete_place(conversation: Conversation, gateway: GatewayClient) -> Place:
    """Return where the user is. A task gets its project, once: the gateway fills in `project_id` only from the place.

    A task that cannot be read stays without. Raises GatewayUnavailable.
    """
    place = Place(**conversation.context)
    if place.type != TASK or place.project_id:
        return place
    project_id = _read_project_id(gateway, place.entity_id)
    if project_id is None:
        return place
    turn_store.store_context(conversation, {**conversation.context, "project_id": project_id})
    place = Place(**conversation.context)
    gateway.use_context(format_context_header(place))
    return place


def _read_project_id(gateway: GatewayClient, task_id: str | None) -> str | None:
    body = {"op": "onto.task.get", "args": {"task_id": task_id, **BRIEF}}
    result = gateway.call("POST", "exec", body, seconds=READ_SECONDS, purpose=CONTEXT).body.get("result")
    task: Any = result.get("task") if isinstance(result, Mapping) else None
    project_id = task.get("project_id") if isinstance(task, Mapping) else None
    return str(project_id) if project_id else None
