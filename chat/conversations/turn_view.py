"""Conversations and messages as the API and the page show them."""

from typing import Any

from chat.models import Conversation, Message, ToolCall


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


def describe_message(message: Message) -> dict[str, Any]:
    """Return a message; one of the assistant with what served it, what it cost and its calls."""
    shared = {
        "id": str(message.pk),
        "role": message.role,
        "text": message.text,
        "created_at": message.created_at.isoformat(),
    }
    if message.role == Message.Role.USER:
        return shared
    return shared | {
        "surface": message.surface,
        "release": message.release,
        "cohort": message.cohort,
        "layers": message.layers,
        "usage": message.usage,
        "written": message.written,
        "finish": message.finish,
        "error": message.error,
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
