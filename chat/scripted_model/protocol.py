"""Chat Completions of OpenAI: requests, answers whole and in chunks, errors.

https://platform.openai.com/docs/api-reference/chat
"""

import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from chat.scripted_model.answers import Answer, ToolCall
from core.text import token_budget

MODEL = "scripted"
_PIECE = re.compile(r"\S*\s*")  # a word with the spaces after it
_ARGUMENT_CHARS = 40  # characters of a call's arguments in one chunk
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class InvalidRequest(Exception):
    """A request that the model cannot answer; `param` names the wrong field."""

    def __init__(self, message: str, *, param: str | None = None, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.status = status
        self.code = code


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What the scripted model reads of a request. Sampling options are ignored."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    stream: bool
    include_usage: bool


def parse_request(body: bytes) -> ChatRequest:
    """Return the request in a body. Raises InvalidRequest."""
    try:
        data = orjson.loads(body)
    except ValueError as error:
        raise InvalidRequest("The body is not valid JSON.") from error
    if not isinstance(data, dict):
        raise InvalidRequest("The body must be a JSON object.")
    if data.get("model") != MODEL:
        message = f"This server has one model: {MODEL}."
        raise InvalidRequest(message, param="model", status=404, code="model_not_found")
    options = data.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise InvalidRequest("stream_options must be an object.", param="stream_options")
    stream = data.get("stream")
    if stream not in (True, False, None):
        raise InvalidRequest("stream must be true or false.", param="stream")
    messages = _read_objects(data, "messages")
    if not messages:
        raise InvalidRequest("messages must have at least one message.", param="messages")
    for at, role in enumerate(message.get("role") for message in messages):
        if not isinstance(role, str) or role not in _ROLES:
            raise InvalidRequest("A message has no valid role.", param=f"messages.[{at}].role")
    return ChatRequest(
        messages=messages,
        tools=_read_objects(data, "tools"),
        stream=stream is True,
        include_usage=bool(options and options.get("include_usage")),
    )


def _read_objects(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    items = data.get(name)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidRequest(f"{name} must be an array of objects.", param=name)
    return items


def build_completion(request: ChatRequest, answer: Answer) -> bytes:
    """Return an answer as one body."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.tool_calls:
        message["tool_calls"] = [_build_tool_call(call) for call in answer.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": answer.finish_reason, "logprobs": None}
    body = _build_head("chat.completion") | {"choices": [choice], "usage": count_usage(request, answer)}
    return orjson.dumps(body)


def build_chunks(request: ChatRequest, answer: Answer) -> Iterator[bytes]:
    """Yield an answer as the events of a stream: text by words, arguments in pieces, usage if requested, [DONE]."""
    head = _build_head("chat.completion.chunk")
    if request.include_usage:
        head["usage"] = None
    yield _build_chunk(head, {"role": "assistant", "content": "" if answer.text else None})
    for piece in filter(None, _PIECE.findall(answer.text)):
        yield _build_chunk(head, {"content": piece})
    for index, call in enumerate(answer.tool_calls):
        yield from _build_call_chunks(head, index, call)
    yield _build_chunk(head, {}, answer.finish_reason)
    if request.include_usage:
        yield _build_event(head | {"choices": [], "usage": count_usage(request, answer)})
    yield b"data: [DONE]\n\n"


def _build_call_chunks(head: dict[str, Any], index: int, call: ToolCall) -> Iterator[bytes]:
    whole = _build_tool_call(call)
    arguments = whole["function"]["arguments"]
    start = whole | {"index": index, "function": {"name": call.name, "arguments": ""}}
    yield _build_chunk(head, {"tool_calls": [start]})
    for at in range(0, len(arguments), _ARGUMENT_CHARS):
        piece = {"index": index, "function": {"arguments": arguments[at : at + _ARGUMENT_CHARS]}}
        yield _build_chunk(head, {"tool_calls": [piece]})


def _build_chunk(head: dict[str, Any], delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
    return _build_event(head | {"choices": [choice]})


def _build_event(data: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"


def _build_head(kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": kind, "created": int(time.time()), "model": MODEL}


def _build_tool_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": orjson.dumps(call.arguments).decode()}
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "type": "function", "function": function}


def count_usage(request: ChatRequest, answer: Answer) -> dict[str, int]:
    """Return the tokens of a request and its answer. Messages and tools are counted as JSON."""
    calls = [{"name": call.name, "arguments": call.arguments} for call in answer.tool_calls]
    prompt = token_budget.count(orjson.dumps([request.messages, request.tools]).decode())
    completion = token_budget.count(answer.text) + (token_budget.count(orjson.dumps(calls).decode()) if calls else 0)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def build_error(error: InvalidRequest) -> bytes:
    """Return an error in OpenAI's form."""
    kind = "server_error" if error.status >= 500 else "invalid_request_error"
    body = {"message": str(error), "type": kind, "param": error.param, "code": error.code}
    return orjson.dumps({"error": body})


def build_model_list() -> bytes:
    """Return the list of the one model."""
    return orjson.dumps(
        {"object": "list", "data": [{"id": MODEL, "object": "model", "created": 0, "owned_by": "chat"}]}
    )
