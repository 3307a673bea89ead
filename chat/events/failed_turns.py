"""How turns fail: those whose process died are marked as interrupted, with what the database has of their answer."""

import time
from datetime import timedelta
from typing import Any

import orjson
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from chat.gateway import envelopes
from chat.models import Message
from core.background import leases

LEASE = timedelta(seconds=11)
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
    """Mark turns as interrupted whose process died."""
    while _find_dead_turns().exists():
        with transaction.atomic():  # if the process lives after all, it waits for the end that is written here
            turn = leases.claim(_find_dead_turns(), LEASE)
            if turn is None:
                return  # another process marks them
            text, reasoning, written = _read_answer(turn)
            leases.release(
                turn,
                finish=Message.Finish.INTERRUPTED,
                error=INTERRUPTED_AFTER_WRITES if written else INTERRUPTED,
                text=text,
                reasoning=reasoning,
                written=written,
            )


def describe_error(turn: Message) -> dict[str, Any]:
    """Return the data of the event `error` of a turn: {code, message, retryable, written?}."""
    return {**(turn.error or {}), **({"written": turn.written} if turn.written else {})}


def _find_dead_turns() -> QuerySet[Message]:
    # Those without a lease are of a process of 0.1.0, which has a heartbeat instead.
    is_dead = leases.ENDED | Q(held_until=None, heartbeat_at__lt=Now() - LEASE)
    return Message.objects.filter(is_dead, role=Message.Role.ASSISTANT, finish="").order_by("pk")


def _read_answer(turn: Message) -> tuple[str, str, list[dict[str, Any]]]:
    """Return the text of a turn, its reasoning, and the writes that succeeded or failed, according to its events."""
    deltas, written = {"text": list[str](), "reasoning": list[str]()}, list[dict[str, Any]]()
    for chunk in turn.event_chunks.all():
        for type, data in orjson.loads(chunk.events):
            if type in deltas:
                deltas[type].append(data["delta"])
            elif type == "operation" and data["status"] != "start" and envelopes.is_write(data):
                written.append(data)
    return "".join(deltas["text"]), "".join(deltas["reasoning"]), written
