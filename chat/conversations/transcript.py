"""The messages of a conversation with their calls, as the API shows them."""

from typing import Any

from chat.conversations.store import describe_conversation, get_conversation
from chat.conversations.versions import map_versions
from chat.events import failed_turns
from chat.models import Conversation, Message, ToolCall


def read_shown(subject: str, session_id: str) -> dict[str, Any]:
    """Return a conversation with the messages and calls that are shown. Raises ApiError."""
    failed_turns.mark_dead_turns()
    conversation = get_conversation(subject, session_id)
    versions = map_versions(conversation)
    messages = [
        describe_message(message) | {"versions": [str(id) for id in versions.get(message.pk, [message.pk])]}
        for message in load_shown(conversation)
    ]
    return _describe_whole(conversation) | {"messages": messages}


def read_all(subject: str, session_id: str) -> dict[str, Any]:
    """Return a conversation with all messages, also those that are not shown. Raises ApiError."""
    failed_turns.mark_dead_turns()
    conversation = get_conversation(subject, session_id)
    messages = [
        describe_message(message)
        | {name: id and str(id) for name in ("version_of", "hidden_under") for id in [getattr(message, f"{name}_id")]}
        for message in conversation.messages.prefetch_related("calls").order_by("position")
    ]
    return _describe_whole(conversation) | {"messages": messages}


def load_shown(conversation: Conversation) -> list[Message]:
    """Return the messages that are shown, with their calls."""
    return list(conversation.messages.shown().prefetch_related("calls").order_by("position"))


def _describe_whole(conversation: Conversation) -> dict[str, Any]:
    return {
        **describe_conversation(conversation),
        "tokens": conversation.tokens,
        "dollars": float(conversation.dollars),
    }


def describe_message(message: Message) -> dict[str, Any]:
    """Return a message; one of the assistant with what served it, what it cost and its calls."""
    shared = {
        "id": str(message.pk),
        "role": message.role,
        "text": message.text,
        "created_at": message.created_at.isoformat(),
    }
    if message.role == Message.Role.USER:
        return shared | {"files": message.files}
    return shared | {
        "reasoning": message.reasoning,
        "surface": message.surface,
        "release": message.release,
        "cohort": message.cohort,
        "layers": message.layers,
        "usage": message.usage,
        "written": message.written,
        "finish": message.finish,
        "error": message.error,
        "thumb": message.thumb,
        "thumb_reason": message.thumb_reason,
        "calls": [describe_call(call) for call in message.calls.all()],
    }


def describe_call(call: ToolCall) -> dict[str, Any]:
    """Return a call with its answer."""
    return {
        "id": str(call.pk),
        "name": call.name,
        "op": call.op,
        "args": call.args,
        "status": call.status,
        "envelope": call.envelope,
        "duration_ms": call.duration_ms,
        "trace_id": call.trace_id,
        "text_before": call.text_before,
    }
