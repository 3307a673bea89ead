"""Requests and responses of the scripted model, as Chat Completions and over HTTP.

https://platform.openai.com/docs/api-reference/chat
"""

import asyncio
import re
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from chat.scripted_model.plans import Answer, ScriptedToolCall
from core.text import token_budget

MODEL = "scripted"
_PIECE = re.compile(r"\S*\s*")  # a word with the spaces after it
_ARGUMENT_CHARS = 40  # characters of a call's arguments in one chunk
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
MAX_HEAD_BYTES = 32_768
MAX_BODY_BYTES = 8_000_000
READ_SECONDS = 30.0  # for a body
IDLE_SECONDS = 75.0  # between two requests on a connection


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


def build_chunks(request: ChatRequest, answer: Answer, *, ids: Sequence[str] = ()) -> Iterator[bytes]:
    """Yield an answer as the events of a stream: text by words, arguments in pieces, usage if requested, [DONE].

    `ids` are those of the calls; by default new ones.
    """
    head = _build_head("chat.completion.chunk")
    if request.include_usage:
        head["usage"] = None
    yield _build_chunk(head, {"role": "assistant", "content": "" if answer.text else None})
    for piece in filter(None, _PIECE.findall(answer.text)):
        yield _build_chunk(head, {"content": piece})
    for index, call in enumerate(answer.tool_calls):
        yield from _build_call_chunks(head, index, call, id=ids[index] if ids else "")
    yield _build_chunk(head, {}, answer.finish_reason)
    if request.include_usage:
        yield _build_event(head | {"choices": [], "usage": count_usage(request, answer)})
    yield b"data: [DONE]\n\n"


def _build_call_chunks(head: dict[str, Any], index: int, call: ScriptedToolCall, *, id: str) -> Iterator[bytes]:
    whole = _build_tool_call(call)
    whole["id"] = id or whole["id"]
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


def _build_tool_call(call: ScriptedToolCall) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request with its body. `keep_alive` is False if the client closes the connection after it."""

    method: str
    path: str
    body: bytes
    keep_alive: bool


class ConnectionEnded(Exception):
    """The client closed the connection, or sent nothing for too long."""


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpRequest:
    """Read the next request. Raises ConnectionEnded, or InvalidRequest, after which nothing more can be read."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise InvalidRequest("The head of the request is too large.", status=431) from error
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError) as error:
        raise ConnectionEnded from error
    request_line, *lines = head.decode("latin-1").split("\r\n")
    parts = request_line.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise InvalidRequest("This is not an HTTP/1.1 request.")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    keep_alive = parts[2] == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    body = await _read_body(reader, writer, headers)
    return HttpRequest(parts[0], parts[1].partition("?")[0], body, keep_alive)


async def _read_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]) -> bytes:
    if "transfer-encoding" in headers:
        raise InvalidRequest("Send a Content-Length.", status=411)
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()):
        raise InvalidRequest("Content-Length is not a number.")
    if len(length) > 9 or int(length) > MAX_BODY_BYTES:
        raise InvalidRequest(f"The body is larger than {MAX_BODY_BYTES} bytes.", status=413)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await reader.readexactly(int(length))
    except (asyncio.IncompleteReadError, TimeoutError, ConnectionError) as error:
        raise ConnectionEnded from error
