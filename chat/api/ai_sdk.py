"""POST /chat/api/ai-sdk: the chat for `useChat` and other clients of the AI SDK; GET goes on with what runs."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from chat.access.identity import Identity
from chat.api.base import api_view, run_with_identity
from chat.api.open_streams import limit_streams
from chat.api.protocol_stream import build_session_id, respond, stream_new_turn
from chat.api.requests import read_json_object
from chat.errors import ApiError
from chat.models import Message
from chat.protocols.ai_sdk import HEADERS, AiSdkEncoder

RESPONDED = "approval-responded"


@api_view("POST")
async def send_message(request: HttpRequest) -> HttpResponseBase:
    """Answer the last message of a chat, or go on after the user's approval."""
    body = read_json_object(request)
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages and isinstance(messages[-1], dict) else {}
    sent = last.get("parts")
    parts = [part for part in sent if isinstance(part, dict)] if isinstance(sent, list) else []
    shared = {"context": body["context"]} if body.get("context") else {}
    if last.get("role") == "user":
        text = "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
        return await stream_new_turn(request, body.get("id"), shared | {"message": text}, AiSdkEncoder(), HEADERS)
    encoder = AiSdkEncoder(message_id=str(last.get("id", "")))
    return await stream_new_turn(request, body.get("id"), shared | _read_decision(parts), encoder, HEADERS)


@api_view("GET")
async def reconnect(request: HttpRequest, chat_id: str) -> HttpResponseBase:
    """Return the events of the turn that runs in a chat, from its beginning; 204 if none runs."""

    def find_turn(identity: Identity) -> tuple[str, str]:
        session_id = build_session_id(identity.subject, chat_id)
        running = Message.objects.filter(
            conversation_id=session_id, conversation__subject=identity.subject, role=Message.Role.ASSISTANT, finish=""
        )
        return str(running.values_list("pk", flat=True).first() or ""), identity.subject

    turn_id, subject = await run_with_identity(request, find_turn)
    if not turn_id:
        return HttpResponse(status=204)
    return limit_streams(respond(turn_id, AiSdkEncoder(), HEADERS), subject=subject)


def _read_decision(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the user's decision about the last call that asked for it. Raises ApiError."""
    for part in reversed(parts):
        approval = part.get("approval")
        if part.get("state") == RESPONDED and isinstance(approval, dict):
            return {"decision": {"call_id": approval.get("id"), "approve": approval.get("approved") is True}}
    raise ApiError(400, "invalid_request", "The last of messages must be one of the user, or have an approval.")
