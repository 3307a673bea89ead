"""How turns fail: those whose process died are marked as interrupted, with what the database has of their answer."""

import time
from datetime import timedelta
from typing import Any

import orjson
from django.db.models import QuerySet
from django.db.models.functions import Now

from chat.gateway import envelopes
from chat.models import Message

DEAD_AFTER = timedelta(seconds=11)  # without a heartbeat, which comes every four
MARKING_SECONDS = 2.0

LOOK_FIRST = "Look at what was done before you ask for the rest."

INTERRUPTED = {
    "code": "interrupted",
    "message": "The answer was interrupted. Send the message again.",
    "retryable": True,
}
INTERRUPTED_AFTER_WRITES = INTERRUPTED | {
    "message": f"The answer was interrupted. {LOOK_FIRST}",
    "retryable": False,
}

_next_marking = 0.0


def mark_dead_turns_sometimes() -> None:
    """Mark dead turns unless that was done a moment ago."""
    global _next_marking
    if time.monotonic() >= _next_marking:
        _next_marking = time.monotonic() + MARKING_SECONDS
        mark_dead_turns()


def mark_dead_turns() -> None:
    """Mark turns as interrupted whose process has stopped saying that they are alive."""
    for turn in _find_dead_turns().prefetch_related("event_chunks"):
        text, written = _read_answer(turn)
        _find_dead_turns().filter(pk=turn.pk).update(
            finish=Message.Finish.INTERRUPTED,
            error=INTERRUPTED_AFTER_WRITES if written else INTERRUPTED,
            text=text,
            written=written,
        )


def describe_error(turn: Message) -> dict[str, Any]:
    """Return the data of the event `error` of a turn: {code, message, retryable, written?}."""
    return {**(turn.error or {}), **({"written": turn.written} if turn.written else {})}


def _find_dead_turns() -> QuerySet[Message]:
    """Find them by the clock of the database: the clocks of processes may differ."""
    return Message.objects.filter(role=Message.Role.ASSISTANT, finish="", heartbeat_at__lt=Now() - DEAD_AFTER)


def _read_answer(turn: Message) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a turn, and the writes that succeeded or failed, according to its events."""
    text, written = list[str](), list[dict[str, Any]]()
    for chunk in turn.event_chunks.all():
        for type, data in orjson.loads(chunk.events):
            if type == "text":
                text.append(data["delta"])
            elif type == "operation" and data["status"] != "start" and envelopes.is_write(data):
                written.append(data)
    return "".join(text), written
