"""What a running turn stores. Each function is one short transaction, and gives its connection back."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import F

from chat.connections import gives_connection_back
from chat.models import Conversation, Message, ToolCall
from core.background import leases

DONE_FIELDS = (
    "surface",
    "release",
    "cohort",
    "layers",
    "text",
    "reasoning",
    "written",
    "usage",
)  # of a turn, at its end


@gives_connection_back
def store_call(call: ToolCall) -> None:
    """Store a call that begins."""
    call.save(force_insert=True)


@gives_connection_back
def store_outcome(call: ToolCall) -> None:
    """Store what came back."""
    call.save(update_fields=["op", "sent", "envelope", "confirmation", "result", "status", "duration_ms", "trace_id"])


@gives_connection_back
def move_call(call: ToolCall) -> None:
    """Store that a call belongs to another turn."""
    call.save(update_fields=["message", "position", "round", "text_before", "sent"])


@gives_connection_back
def store_context(conversation: Conversation, context: Mapping[str, Any]) -> None:
    """Move the conversation to another place."""
    conversation.context = dict(context)
    conversation.save(update_fields=["context"])


@gives_connection_back
def store_zone(conversation: Conversation, zone: str) -> None:
    """Remember the user's time zone, in which the page shows times."""
    conversation.zone = zone
    conversation.save(update_fields=["zone"])


@gives_connection_back
def store_row_ids(conversation: Conversation, ids: Sequence[str]) -> None:
    """Remember the rows that have handles, in the order of these."""
    conversation.row_ids = list(ids)
    conversation.save(update_fields=["row_ids"])


@gives_connection_back
def store_title(conversation: Conversation, title: str) -> bool:
    """Set a title by the model, unless a person has given one. Return whether it was set."""
    return bool(
        Conversation.objects.filter(pk=conversation.pk)
        .exclude(title_by=Conversation.TitleBy.PERSON)
        .update(title=title, title_by=Conversation.TitleBy.MODEL)
    )


@gives_connection_back
def exists(turn: Message) -> bool:
    """Whether a turn is still there."""
    return Message.objects.filter(pk=turn.pk).exists()


@gives_connection_back
def load_title(conversation: Conversation) -> str:
    """Return the title, which the user may have changed in the meantime."""
    return Conversation.objects.values_list("title", flat=True).get(pk=conversation.pk)


@gives_connection_back
def load_call(call_id: str) -> ToolCall:
    """Return a call with its message."""
    return ToolCall.objects.select_related("message").get(pk=call_id)


@gives_connection_back
def load_waiting_calls(message_ids: Collection[UUID]) -> list[ToolCall]:
    """Return the calls of turns that wait for the user, in order."""
    calls = ToolCall.objects.filter(message_id__in=message_ids, status=ToolCall.Status.CONFIRM)
    return list(calls.order_by("message__position", "position"))


@gives_connection_back
def store_failed_start(turn: Message, error: Mapping[str, Any]) -> None:
    """Store that a turn could not begin."""
    with suppress(leases.LeaseLost):  # it is marked as dead
        leases.release(turn, finish=Message.Finish.ERROR, error=dict(error))


def store_end(turn: Message, *, tokens: int, dollars: Decimal, at: datetime) -> None:
    """Store the end of a turn, within a transaction. A turn that was marked as dead stays interrupted."""
    done = {name: getattr(turn, name) for name in DONE_FIELDS}
    try:
        leases.release(turn, **done, finish=turn.finish, error=turn.error)
    except leases.LeaseLost:
        Message.objects.filter(pk=turn.pk, finish=Message.Finish.INTERRUPTED).update(**done)
    Conversation.objects.filter(pk=turn.conversation_id).update(updated_at=at, **_add(tokens, dollars))


@gives_connection_back
def add_spending(conversation: Conversation, *, tokens: int, dollars: Decimal) -> None:
    """Add to what a conversation has cost."""
    Conversation.objects.filter(pk=conversation.pk).update(**_add(tokens, dollars))


def _add(tokens: int, dollars: Decimal) -> dict[str, Any]:
    return {"tokens": F("tokens") + tokens, "dollars": F("dollars") + dollars}
