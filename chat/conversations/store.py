"""Find and change conversations, as the API shows them."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet
from rest_framework import serializers

from chat.context.layers import CALENDAR, GLOBAL, PROJECT, TASK
from chat.errors import ApiError
from chat.events import event_writer
from chat.models import Conversation, Message
from core.database.locks import lock_name
from core.text import lists


def find_conversations(subject: str) -> QuerySet[Conversation]:
    """Return a subject's conversations that are not deleted."""
    return Conversation.objects.filter(subject=subject, deleted_at=None)


def get_conversation(subject: str, session_id: str) -> Conversation:
    """Return a subject's conversation. Raises ApiError."""
    conversation = find_conversations(subject).filter(pk=session_id).first()
    if conversation is None:
        raise ApiError(404, "not_found", "There is no such conversation. Leave out session_id to begin a new one.")
    return conversation


def lock_subject(subject: str) -> None:
    """Let a subject's requests change conversations one after the other. On SQLite the transaction does that."""
    lock_name(f"chat:{subject}")


def describe_conversation(conversation: Conversation) -> dict[str, Any]:
    """Return {id, title, title_by, context, created_at, updated_at}."""
    return {
        "id": str(conversation.pk),
        "title": conversation.title,
        "title_by": conversation.title_by,
        "context": conversation.context,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
    }


def list_page(subject: str, *, query: str, cursor: str, size: int) -> dict[str, Any]:
    """Return {conversations, next_cursor?}, those used last first. `query` is looked for in titles and messages.

    Raises ApiError.
    """
    if "\x00" in query:  # PostgreSQL has no such texts
        raise ApiError(400, "invalid_request", "The search text has a NUL character. Leave it out.")
    rows = find_conversations(subject).order_by("-updated_at", "-pk")
    if query.strip():
        rows = rows.filter(Q(title__icontains=query.strip()) | Q(messages__text__icontains=query.strip())).distinct()
    if cursor:
        rows = _filter_after(rows, cursor)
    running = Message.objects.filter(conversation=OuterRef("pk"), role=Message.Role.ASSISTANT, finish="")
    page = list(rows.annotate(is_answering=Exists(running))[: size + 1])
    conversations = [{**describe_conversation(row), "is_answering": row.is_answering} for row in page[:size]]
    if len(page) <= size:
        return {"conversations": conversations}
    last = page[size - 1]
    return {
        "conversations": conversations,
        "next_cursor": lists.encode_cursor(f"{last.updated_at.isoformat()} {last.pk}"),
    }


def rename(subject: str, session_id: str, *, title: str) -> dict[str, Any]:
    """Set the title by the user, which stays. Raises ApiError."""
    conversation = get_conversation(subject, session_id)
    conversation.title, conversation.title_by = title, Conversation.TitleBy.PERSON
    conversation.save(update_fields=["title", "title_by"])
    return describe_conversation(conversation)


def delete(subject: str, session_id: str) -> None:
    """Hide a conversation, and stop what runs in it. A job deletes its rows a day later. Raises ApiError."""
    conversation = get_conversation(subject, session_id)
    cancel(subject, session_id, message_id=None)
    conversation.deleted_at = datetime.now(UTC)
    conversation.save(update_fields=["deleted_at"])


def cancel(subject: str, session_id: str, *, message_id: str | None) -> bool:
    """Stop the turn that runs, in any process. Return whether there was one. Raises ApiError."""
    conversation = get_conversation(subject, session_id)
    running = conversation.messages.filter(role=Message.Role.ASSISTANT, finish="")
    if message_id:
        running = running.filter(pk=message_id)
    turn_ids = [str(each) for each in running.values_list("pk", flat=True)]
    running.update(cancel_requested=True)
    for turn_id in turn_ids:
        event_writer.cancel_here(turn_id)
    return bool(turn_ids)


def _filter_after(rows: QuerySet[Conversation], cursor: str) -> QuerySet[Conversation]:
    try:
        updated_at, id = lists.decode_cursor(cursor).split(" ")
        at, last_id = datetime.fromisoformat(updated_at).astimezone(UTC), UUID(id)
    except (ValueError, OverflowError):
        raise ApiError(400, "invalid_request", "The cursor is not valid. Start without one.") from None
    return rows.filter(Q(updated_at__lt=at) | Q(updated_at=at, pk__lt=last_id))


class ContextField(serializers.Serializer[Any]):
    """Where the user is."""

    type = serializers.ChoiceField(choices=[PROJECT, TASK, CALENDAR, GLOBAL])
    project_id = serializers.UUIDField(required=False)
    entity_id = serializers.UUIDField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that the context names the row that its type needs."""
        if attrs["type"] == PROJECT and "project_id" not in attrs:
            raise serializers.ValidationError("A context of the type project needs project_id.")
        if attrs["type"] == TASK and "entity_id" not in attrs:
            raise serializers.ValidationError("A context of the type task needs entity_id, the task's id.")
        return {name: value if name == "type" else str(value) for name, value in attrs.items()}
