"""What a running turn stores. Each function is one short transaction, and gives its connection back."""

from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from chat.connections import gives_connection_back
from chat.models import Conversation, Message, ToolCall


@gives_connection_back
def store_call(call: ToolCall) -> None:
    """Store a call that begins."""
    call.save(force_insert=True)


@gives_connection_back
def store_outcome(call: ToolCall) -> None:
    """Store what came back."""
    call.save(update_fields=["op", "envelope", "confirmation", "result", "status", "duration_ms", "trace_id"])


@gives_connection_back
def store_serving(turn: Message) -> None:
    """Store what serves the turn: surface, release, cohort and the layers of the context."""
    turn.save(update_fields=["surface", "release", "cohort", "layers"])


@gives_connection_back
def store_context(conversation: Conversation, context: Mapping[str, Any]) -> None:
    """Move the conversation to another place."""
    conversation.context = dict(context)
    conversation.save(update_fields=["context"])


@gives_connection_back
def store_title(conversation: Conversation, title: str) -> bool:
    """Set a title by the model, unless a person has given one. Return whether it was set."""
    return bool(
        Conversation.objects.filter(pk=conversation.pk)
        .exclude(title_by=Conversation.TitleBy.PERSON)
        .update(title=title, title_by=Conversation.TitleBy.MODEL)
    )


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
def store_end(turn: Message, *, tokens: int, dollars: Decimal, at: datetime) -> None:
    """Store the end of a turn, unless it was marked as interrupted meanwhile."""
    with transaction.atomic():
        Message.objects.filter(pk=turn.pk, finish="").update(
            text=turn.text,
            written=turn.written,
            finish=turn.finish,
            error=turn.error,
            usage=turn.usage,
            heartbeat_at=None,
        )
        Conversation.objects.filter(pk=turn.conversation_id).update(
            tokens=F("tokens") + tokens, dollars=F("dollars") + dollars, updated_at=at
        )
