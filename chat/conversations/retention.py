"""Delete old conversations, and find or delete the rows of one subject."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from chat.models import Conversation, EventChunk, Message, Profile, ToolCall

CHUNKS_KEPT = timedelta(minutes=5)  # after the end of a turn, for streams that reconnect
DELETED_KEPT = timedelta(days=1)
BATCH_SIZE = 1_000


def delete_event_chunks(at: datetime) -> bool:
    """Delete the events of turns that ended some minutes ago. Messages and calls stay."""
    before = at - CHUNKS_KEPT
    later = EventChunk.objects.filter(message=OuterRef("message"), written_at__gte=before)  # the last is of the end
    old = EventChunk.objects.filter(~Exists(later), written_at__lt=before).exclude(message__finish="")
    ids = list(old.order_by("written_at").values_list("pk", flat=True)[:BATCH_SIZE])
    EventChunk.objects.filter(pk__in=ids).delete()
    return len(ids) == BATCH_SIZE


def delete_conversations(at: datetime) -> bool:
    """Delete conversations that have not been used for CHAT_DAYS, and those that their users deleted."""
    expired = Conversation.objects.filter(
        Q(updated_at__lt=at - timedelta(days=settings.CHAT_DAYS)) | Q(deleted_at__lt=at - DELETED_KEPT)
    )
    ids = list(expired.order_by("updated_at").values_list("pk", flat=True)[:BATCH_SIZE])
    Conversation.objects.filter(pk__in=ids).delete()
    return len(ids) == BATCH_SIZE


def find_rows(subject: str) -> dict[str, QuerySet[Any]]:
    """Return the rows by their name in an export. Those that belong to others come after them."""
    return {
        "chat_profiles": Profile.objects.filter(subject=subject),
        "conversations": Conversation.objects.filter(subject=subject),
        "messages": Message.objects.filter(conversation__subject=subject),
        "tool_calls": ToolCall.objects.filter(message__conversation__subject=subject),
        "event_chunks": EventChunk.objects.filter(message__conversation__subject=subject),
    }
