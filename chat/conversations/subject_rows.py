"""What is stored about a subject."""

from typing import Any

from django.db.models import QuerySet

from chat.models import Conversation, EventChunk, Message, Profile, ToolCall


def find_rows(subject: str) -> dict[str, QuerySet[Any]]:
    """Return the rows by their name in an export. Those that belong to others come after them."""
    return {
        "chat_profiles": Profile.objects.filter(subject=subject),
        "conversations": Conversation.objects.filter(subject=subject),
        "messages": Message.objects.filter(conversation__subject=subject),
        "tool_calls": ToolCall.objects.filter(message__conversation__subject=subject),
        "event_chunks": EventChunk.objects.filter(message__conversation__subject=subject),
    }
