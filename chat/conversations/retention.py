"""Delete old conversations, and find or delete the rows of one subject."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet

from chat.models import Conversation, EventChunk, Message, Profile, ToolCall
from core.background import retention
from core.background.retention import Expiring, Retention

CHUNKS_KEPT = timedelta(minutes=5)  # after the end of a turn, for streams that reconnect
DELETED_KEPT = timedelta(days=1)


def delete_event_chunks(at: datetime) -> bool:
    """Delete the events of turns that ended some minutes ago. Messages and calls stay."""
    before = at - CHUNKS_KEPT
    later = EventChunk.objects.filter(message=OuterRef("message"), written_at__gte=before)  # the last is of the end
    old = EventChunk.objects.filter(~Exists(later), written_at__lt=before).exclude(message__finish="")
    return retention.delete_first(old.order_by("written_at"))


def _get_conversation_age() -> timedelta:
    return timedelta(days=settings.CHAT_DAYS)


delete_conversations = Retention(
    "Delete conversations that have not been used for CHAT_DAYS, and those that their users deleted.",
    Expiring(Conversation.objects.all(), "updated_at", _get_conversation_age),
    Expiring(Conversation.objects.filter(deleted_at__isnull=False), "deleted_at", DELETED_KEPT),
)


def find_rows(subject: str) -> dict[str, QuerySet[Any]]:
    """Return the rows by their name in an export. Those that belong to others come after them."""
    return {
        "chat_profiles": Profile.objects.filter(subject=subject),
        "conversations": Conversation.objects.filter(subject=subject),
        "messages": Message.objects.filter(conversation__subject=subject),
        "tool_calls": ToolCall.objects.filter(message__conversation__subject=subject),
        "event_chunks": EventChunk.objects.filter(message__conversation__subject=subject),
    }
