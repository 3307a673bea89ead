"""POST /chat/api/ag-ui: the chat as an agent for clients of AG-UI, such as CopilotKit."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase

from chat.api.base import api_view
from chat.api.protocol_stream import stream_new_turn
from chat.api.requests import read_thread
from chat.errors import ApiError
from chat.protocols.ag_ui import AgUiEncoder

NAMES = {
    "session_id": "threadId",
    "message": "messages",
    "context": "forwardedProps.context",
    "decisions": "resume",
    "call_id": "interruptId",
    "approve": "payload.approved",
}


@api_view("POST")
async def run_agent(request: HttpRequest) -> HttpResponseBase:
    """Run the agent on the last message of a thread, or go on after interrupts."""
    body = read_thread(request)
    thread_id, run_id = body.get("threadId"), body.get("runId")
    if not isinstance(run_id, str):
        raise ApiError(400, "invalid_request", "Send runId, a text.")
    encoder = AgUiEncoder(thread_id=str(thread_id), run_id=run_id)
    return await stream_new_turn(request, thread_id, _read_input(body), encoder, names=NAMES)


def _read_input(body: dict[str, Any]) -> dict[str, Any]:
    """Return the message or the decisions, and where the user is (`forwardedProps.context`)."""
    properties = body.get("forwardedProps")
    context = properties.get("context") if isinstance(properties, dict) else None
    shared = {"context": context} if context else {}
    if resume := body.get("resume"):
        if not isinstance(resume, list) or not all(isinstance(each, dict) for each in resume):
            raise ApiError(400, "invalid_request", "Send resume as a list of {interruptId, status, payload}.")
        return shared | {"decisions": [_read_decision(each) for each in resume]}
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else {}
    if not isinstance(last, dict) or last.get("role") != "user":
        raise ApiError(400, "invalid_request", "The last of messages must be one of the user.")
    return shared | {"message": _read_text(last.get("content"))}


def _read_decision(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what the user answered to an interrupt. If they cancelled it, they did not agree."""
    payload = entry.get("payload")
    approved = payload.get("approved") if isinstance(payload, dict) else None
    return {"call_id": entry.get("interruptId"), "approve": entry.get("status") == "resolved" and approved}


def _read_text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "\n".join(str(part) for part in parts)
    return str(content or "")
