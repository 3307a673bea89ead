"""The AG-UI protocol: its endpoint and its events."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from django.http import HttpRequest, HttpResponseBase

from chat.api.base import api_view
from chat.api.protocol_stream import Frame, TurnEncoder, stream_new_turn
from chat.api.requests import read_thread
from chat.errors import ApiError
from chat.gateway import envelopes
from chat.turns import wording

APPROVAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}},
    "required": ["approved"],
}
NAMES = {
    "session_id": "threadId",
    "message": "messages",
    "context": "forwardedProps.context",
    "decisions": "resume",
    "call_id": "interruptId",
    "approve": "payload.approved",
    "content": "payload.content",
}


class AgUiEncoder(TurnEncoder):
    """Converts the events of one turn into events of a run. `run_id` and `thread_id` are the client's."""

    def __init__(self, *, thread_id: str, run_id: str) -> None:
        super().__init__()
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._turn_id = ""
        self._interrupts: list[Frame] = []
        self._usage: list[Frame] = []

    def _encode_event(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        if type == "session":
            self._turn_id = data["message_id"]
            yield {"type": "RUN_STARTED", **self._ids, "protocolVersion": "1.0"}
        elif type == "tool":
            yield from self._encode_tool(data)
        elif type == "usage":
            total = data["input"] + data["output"]
            self._usage = [{"inputTokens": data["input"], "outputTokens": data["output"], "totalTokens": total}]
        elif type == "done":
            yield self._encode_end(data)
        elif type == "error":
            yield {"type": "RUN_ERROR", "message": data["message"], "code": data["code"]}
        else:
            yield {"type": "CUSTOM", "name": type, "value": data}

    def _begin_text(self) -> Iterator[Frame]:
        yield {"type": "TEXT_MESSAGE_START", "messageId": self._block_id, "role": "assistant"}

    def _add_text(self, delta: str) -> Frame:
        return {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._block_id, "delta": delta}

    def _end_text(self) -> Iterator[Frame]:
        yield {"type": "TEXT_MESSAGE_END", "messageId": self._block_id}

    def _begin_reasoning(self) -> Iterator[Frame]:
        yield {"type": "REASONING_START", "messageId": self._block_id}
        yield {"type": "REASONING_MESSAGE_START", "messageId": self._block_id, "role": "reasoning"}

    def _add_reasoning(self, delta: str) -> Frame:
        return {"type": "REASONING_MESSAGE_CONTENT", "messageId": self._block_id, "delta": delta}

    def _end_reasoning(self) -> Iterator[Frame]:
        yield {"type": "REASONING_MESSAGE_END", "messageId": self._block_id}
        yield {"type": "REASONING_END", "messageId": self._block_id}

    @property
    def _block_id(self) -> str:
        return f"{self._turn_id}-{self._block_number}"

    def _encode_tool(self, data: Mapping[str, Any]) -> Iterator[Frame]:
        call = {"toolCallId": data["id"]}
        if data["status"] == "start":
            yield {"type": "TOOL_CALL_START", **call, "toolCallName": data["name"]}
            yield {"type": "TOOL_CALL_ARGS", **call, "delta": orjson.dumps(data["args"]).decode()}
            yield {"type": "TOOL_CALL_END", **call}
        elif data["status"] == "confirm":
            self._interrupts.append({"id": data["id"], **_describe_interrupt(data["envelope"]), **call})
        else:
            content = orjson.dumps(data["envelope"]).decode()
            yield {"type": "TOOL_CALL_RESULT", "messageId": f"{data['id']}-result", **call, "content": content}

    def _encode_end(self, data: Mapping[str, Any]) -> Frame:
        outcome: Frame = {"type": "success"}
        if data["reason"] == "ask" and self._interrupts:
            outcome = {"type": "interrupt", "interrupts": self._interrupts}
        elif data["reason"] == "cancelled":
            outcome = {"type": "cancelled"}
        result = {name: data[name] for name in ("reason", "title", "written") if name in data}
        return {"type": "RUN_FINISHED", **self._ids, "outcome": outcome, "result": result, "usage": self._usage}


def _describe_interrupt(answer: Mapping[str, Any]) -> Frame:
    """Return what an interrupt asks: to agree to a call, or to answer its service with a form or a page to open."""
    question, found = wording.build_question(answer), envelopes.find_input(answer)
    if found is None:
        return {"reason": "confirmation_required", "message": question.text, "responseSchema": APPROVAL_SCHEMA}
    asked, _ = found
    properties = {**APPROVAL_SCHEMA["properties"]} | ({"content": asked.schema} if asked.schema else {})
    return {
        "reason": envelopes.INPUT_REQUIRED,
        "message": question.text,
        "responseSchema": {**APPROVAL_SCHEMA, "properties": properties},
        **({"metadata": {"url": asked.url}} if asked.url else {}),
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
        raise ApiError(400, "invalid_request", "The last message must be from the user.")
    return shared | {"message": _read_text(last.get("content"))}


def _read_decision(entry: dict[str, Any]) -> dict[str, Any]:
    """Return what the user answered to an interrupt. If they cancelled it, they did not agree."""
    payload = entry.get("payload")
    approved = payload.get("approved") if isinstance(payload, dict) else None
    content = payload.get("content") if isinstance(payload, dict) else None
    return {
        "call_id": entry.get("interruptId"),
        "approve": entry.get("status") == "resolved" and approved,
        **({"content": content} if content is not None else {}),
    }


def _read_text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "\n".join(str(part) for part in parts)
    return str(content or "")
