"""Past turns as the model reads them, those that a turn goes on with, and the project of the task they were about."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson

from chat.connections import gives_connection_back
from chat.context import retelling
from chat.context.history import PastTurn
from chat.context.layers import TASK, PastCall, PastStep, Place
from chat.context.shortening.clipping import clip
from chat.conversations import turn_store
from chat.gateway import envelopes
from chat.gateway.client import CONTEXT, GatewayClient
from chat.gateway.envelopes import format_context_header
from chat.models import Conversation, Message, ToolCall

MAX_TURNS = 40  # that are loaded; the budget of the history is far smaller
NOT_DECIDED = (
    "Not decided, and nothing was done. The user was asked whether to {asked}. They did not use the button{reply}. If "
    "they agree, make one call with the same args: it is checked again, and they are asked again. If not, leave it."
)
MAX_REPLY = 300  # characters
UNFINISHED = {
    "ok": False,
    "error": {"code": "INTERNAL", "message": "The turn ended before this call. Check what was done."},
}
READ_SECONDS = 15
BRIEF = {"include_subtasks": False, "include_links": False, "max_chars": 500}


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """What a turn goes on with: the user's question, and the answers to it so far, oldest first."""

    question: Message | None
    answers: Sequence[Message]

    @property
    def begins_at(self) -> int:
        """The position of its first message."""
        return (self.question or self.answers[0]).position


@gives_connection_back
def load_asked_turn(
    conversation: Conversation, *, before: int, goes_through: Callable[[str], bool] = lambda _: True
) -> AskedTurn:
    """Return the turn that asked for a decision, with all that went on with it, by the messages before a position.

    An answer that ended with a question goes on in the next one: always without a message of the user between them, and
    with one for which `goes_through` is true.
    """
    question, answers = None, list[Message]()
    messages = conversation.messages.shown().filter(position__lt=before).prefetch_related("calls")
    for message in messages.order_by("-position")[: 2 * MAX_TURNS]:
        if message.role == Message.Role.USER:
            if question is not None:
                break
            question = message
        elif question is None or (message.finish == Message.Finish.ASK and goes_through(question.text)):
            answers.insert(0, message)
            question = None
        else:
            break
    return AskedTurn(question, answers)


@gives_connection_back
def load_past_turns(
    conversation: Conversation, *, before: int, learn: Callable[[Any], None], reply: str = ""
) -> list[PastTurn]:
    """Return the turns that begin before a position and are not in the summary, oldest first.

    `learn` gets the answers of all their calls, for the names of rows. `reply` is what the user wrote after them.
    """
    if before <= 1:
        return []
    messages = list(
        conversation.messages.shown()
        .filter(position__gt=conversation.summarised_until, position__lt=before)
        .prefetch_related("calls")
        .order_by("-position")[: 2 * MAX_TURNS]
    )
    turns, last_answer = list[PastTurn](), None
    for message in messages:  # the newest first
        if message.role == Message.Role.ASSISTANT:
            if last_answer is not None:
                turns.append(build_past_turn(None, last_answer, reply=reply))
            last_answer = message
            for call in message.calls.all():
                learn(call.envelope)
        else:
            turns.append(
                build_past_turn(message.text_for_model, last_answer, reply=reply)
                if last_answer is not None
                else PastTurn(message.text_for_model, (), "")
            )
            last_answer, reply = None, message.text
    if last_answer is not None:
        turns.append(build_past_turn(None, last_answer, reply=reply))
    return turns[::-1]


def build_past_turn(question: str | None, message: Message, *, reply: str) -> PastTurn:
    """Return a turn with its rounds: what the model wrote before its calls, the calls, and the answer at the end."""
    steps, start = [], 0
    for text, calls in iter_rounds(message):
        steps.append(PastStep(text, tuple(_build_call(call, reply) for call in calls)))
        start = calls[0].text_before
    return PastTurn(question, tuple(steps), message.text[start:].strip())


def iter_rounds(message: Message) -> Iterator[tuple[str, list[ToolCall]]]:
    """Yield what the model wrote before the calls of each of its answers, and those calls."""
    start = 0
    for _, group in groupby(message.calls.all(), key=lambda call: call.round):
        calls = list(group)
        yield message.text[start : calls[0].text_before].strip(), calls
        start = calls[0].text_before


def _build_call(call: ToolCall, reply: str) -> PastCall:
    result = call.result or orjson.dumps(UNFINISHED).decode()
    if call.status == ToolCall.Status.CONFIRM and call.envelope:
        wrote = f" but wrote: “{clip(reply, MAX_REPLY)}”" if reply else ""
        answer = envelopes.close_waiting(
            call.envelope, lambda asked: NOT_DECIDED.format(asked=asked, reply=wrote), retelling.NOT_DECIDED
        )
        result = orjson.dumps(answer).decode()
    return PastCall(call.call_id, call.name, call.args, result)


@gives_connection_back
def load_undecided_calls(conversation: Conversation, *, before: int) -> list[ToolCall]:
    """Return the calls that the last answer before a position asked the user about."""
    if before <= 1:
        return []
    answers = conversation.messages.shown().filter(position__lt=before, role=Message.Role.ASSISTANT)
    last = answers.order_by("-position").first()
    return list(last.calls.filter(status=ToolCall.Status.CONFIRM)) if last else []


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
