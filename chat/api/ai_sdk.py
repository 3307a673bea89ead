"""The protocol of the AI SDK: its endpoint and its stream."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from chat.access import Identity
from chat.api.base import api_view, run_with_identity
from chat.api.protocol_stream import Frame, TurnEncoder, build_session_id, respond, stream_new_turn
from chat.api.requests import read_thread
from chat.api.stream import limit_streams
from chat.errors import ApiError
from chat.gateway import envelopes
from chat.models import Message

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
FINISH_REASONS = {"stop": "stop", "limit": "length", "ask": "tool-calls"}
RESPONDED = "approval-responded"
NAMES = {
    "session_id": "id",
    "message": "messages",
    "decisions": "messages",
    "call_id": "approval.id",
    "approve": "approval.approved",
}


class AiSdkEncoder(TurnEncoder):
    """Converts the events of one turn into chunks of a message: a new one, or the client's message, continued."""

    def __init__(self, *, message_id: str = "") -> None:
        super().__init__()
        self._message_id = message_id
        self._begun = set[str]()  # calls of this message

    def end(self) -> bytes:
        """Return what is sent after the last chunk."""
        return b"data: [DONE]\n\n"

    def _encode_event(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        if type == "session":
            yield {"type": "start", "messageId": self._message_id or data["message_id"]}
            yield {"type": "data-session", "data": data, "transient": True}
        elif type == "tool":
            yield from self._encode_tool(data)
        elif type == "done":
            metadata = {name: data[name] for name in ("reason", "title", "written") if name in data}
            if data["reason"] == "cancelled":
                yield {"type": "abort", "reason": "The user stopped the answer."}
            else:
                reason = FINISH_REASONS[data["reason"]]
                yield {"type": "finish", "finishReason": reason, "messageMetadata": metadata}
        elif type == "error":
            yield {"type": "error", "errorText": data["message"]}
        else:
            yield {"type": f"data-{type}", "data": data, "transient": type == "operation"}

    def _begin_text(self) -> Iterator[Frame]:
        yield {"type": "text-start", "id": str(self._block_number)}

    def _add_text(self, delta: str) -> Frame:
        return {"type": "text-delta", "id": str(self._block_number), "delta": delta}

    def _end_text(self) -> Iterator[Frame]:
        yield {"type": "text-end", "id": str(self._block_number)}

    def _begin_reasoning(self) -> Iterator[Frame]:
        yield {"type": "reasoning-start", "id": str(self._block_number)}

    def _add_reasoning(self, delta: str) -> Frame:
        return {"type": "reasoning-delta", "id": str(self._block_number), "delta": delta}

    def _end_reasoning(self) -> Iterator[Frame]:
        yield {"type": "reasoning-end", "id": str(self._block_number)}

    def _encode_tool(self, data: Mapping[str, Any]) -> Iterator[Frame]:
        shared = {"toolCallId": data["id"], "providerExecuted": True, "dynamic": True}
        if data["id"] not in self._begun and not self._message_id:  # a call of an earlier message begins here again
            self._begun.add(data["id"])
            yield {"type": "tool-input-available", "toolName": data["name"], "input": data["args"], **shared}
        if data["status"] == "start":
            if self._message_id:
                yield {"type": "tool-input-available", "toolName": data["name"], "input": data["args"], **shared}
        elif data["status"] == "confirm":
            yield {"type": "tool-approval-request", "approvalId": data["id"], "toolCallId": data["id"]}
        elif (
            data["status"] == "error"
            and data["envelope"].get("error", {}).get("details", {}).get("reason") == "declined"
        ):
            yield {"type": "tool-output-denied", "toolCallId": data["id"]}
        elif data["status"] == "error":
            action = envelopes.get_user_action(data["envelope"])
            message = data["envelope"].get("error", {}).get("message", "The call failed.")
            message = f"{action.text} {action.url}".strip() if action else message
            yield {"type": "tool-output-error", "errorText": message, **shared}
        else:
            yield {"type": "tool-output-available", "output": data["envelope"], **shared}


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
        raise ApiError(400, "invalid_request", "The last message must be from the user, or have an approval.")
    return decisions
