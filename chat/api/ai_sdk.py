"""POST /chat/api/ai-sdk: the chat for `useChat` and other clients of the AI SDK; GET goes on with what runs."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from chat.access.identity import Identity
from chat.api.base import api_view, run_with_identity
from chat.api.open_streams import limit_streams
from chat.api.protocol_stream import build_session_id, respond, stream_new_turn
from chat.api.requests import read_thread
from chat.errors import ApiError
from chat.models import Message
from chat.protocols.ai_sdk import HEADERS, AiSdkEncoder

RESPONDED = "approval-responded"
NAMES = {
    "session_id": "id",
    "message": "messages",
    "decisions": "messages",
    "call_id": "approval.id",
    "approve": "approval.approved",
}


@api_view("POST")
async def send_message(request: HttpRequest) -> HttpResponseBase:
    """Answer the last message of a chat, or go on after the user's approval."""
    body = read_thread(request)
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages and isinstance(messages[-1], dict) else {}
    is_message = last.get("role") == "user"
    parts = last.get("parts")
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    fields: dict[str, Any] = {"message": _read_text(parts)} if is_message else {"decisions": _read_decisions(parts)}
    if body.get("context"):
        fields["context"] = body["context"]
    encoder = AiSdkEncoder(message_id="" if is_message else str(last.get("id", "")))
    return await stream_new_turn(request, body.get("id"), fields, encoder, names=NAMES, headers=HEADERS)


@api_view("GET")
async def reconnect(request: HttpRequest, chat_id: str) -> HttpResponseBase:
    """Return the events of the turn that runs in a chat, from its beginning; 204 if none runs."""

    def find_turn(identity: Identity) -> tuple[str, str]:
        session_id = build_session_id(identity.subject, chat_id, name=NAMES["session_id"])
        running = Message.objects.filter(
            conversation_id=session_id, conversation__subject=identity.subject, role=Message.Role.ASSISTANT, finish=""
        )
        return str(running.values_list("pk", flat=True).first() or ""), identity.subject

    turn_id, subject = await run_with_identity(request, find_turn)
    if not turn_id:
        return HttpResponse(status=204)
    return limit_streams(respond(turn_id, AiSdkEncoder(), HEADERS), subject=subject)


def _read_text(parts: list[dict[str, Any]]) -> str:
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")


def _read_decisions(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the user's decisions about the calls that asked for one. Raises ApiError if there is none."""
    approvals = [part.get("approval") for part in parts if part.get("state") == RESPONDED]
    decisions = [
        {"call_id": each.get("id"), "approve": each.get("approved")} for each in approvals if isinstance(each, dict)
    ]
    if not decisions:
        raise ApiError(400, "invalid_request", "The last of messages must be one of the user, or have an approval.")
    return decisions
