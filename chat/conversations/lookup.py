"""Find the conversations of a subject. Those of others do not exist for them."""

from django.db.models import QuerySet

from chat.errors import ApiError
from chat.models import Conversation


def find_conversations(subject: str) -> QuerySet[Conversation]:
    """Return a subject's conversations that are not deleted."""
    return Conversation.objects.filter(subject=subject, deleted_at=None)


def get_conversation(subject: str, session_id: str) -> Conversation:
    """Return a subject's conversation. Raises ApiError."""
    conversation = find_conversations(subject).filter(pk=session_id).first()
    if conversation is None:
        raise ApiError(404, "not_found", "There is no such conversation. Leave session_id out to begin a new one.")
    return conversation
