"""One request of a version up to 2025-11-25, answered by the SDK's handlers without its transport.

Without sessions and streams, the transport only carries a message to the handlers and one back. It takes an event loop,
several tasks and streams for that, and more CPU time than most calls. The checks of messages, the handlers and the
errors are the SDK's here, too. Whatever is not a plain request goes through the transport (`http_exchange`), which
knows how to answer it.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import anyio
from django.http import HttpRequest, HttpResponse
from mcp.server.connection import Connection
from mcp.server.lowlevel.server import Server
from mcp.server.runner import ServerRunner
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import handler_exception_to_error_data
from mcp.shared.transport_context import TransportContext
from mcp_types import DEFAULT_NEGOTIATED_VERSION, INTERNAL_ERROR, ErrorData, JSONRPCError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from core import logs
from core.text import json_text
from gateway.api.base import JSON_CONTENT_TYPE

log = logging.getLogger(__name__)

MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
VERSION_HEADER = "HTTP_MCP_PROTOCOL_VERSION"
JSON_RANGES = frozenset({JSON_CONTENT_TYPE, "application/*", "*/*"})
Message = dict[str, Any]
T = TypeVar("T")


class DirectBridge:
    """Runs synchronous code of the gateway where a handler asks for it: no event loop runs that it could stop."""

    async def call(self, function: Callable[[], T]) -> T:
        """Return the result of a function."""
        return function()


def is_plain_request(message: Message, request: HttpRequest) -> bool:
    """Return whether a message is a request that the SDK's transport would pass on to a handler as it is."""
    id, meta = message.get("id"), request.META
    return (
        message.keys() <= MEMBERS
        and message.get("jsonrpc") == "2.0"
        and isinstance(id, int | str)
        and not isinstance(id, bool)
        and isinstance(message.get("method"), str)
        and isinstance(message.get("params", {}), dict)
        and meta.get(VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION) in HANDSHAKE_PROTOCOL_VERSIONS
        and request.content_type == JSON_CONTENT_TYPE
        and any(_read_range(each) in JSON_RANGES for each in meta.get("HTTP_ACCEPT", "").split(","))
    )


def _read_range(text: str) -> str:
    return text.partition(";")[0].strip().lower()


def answer_request(server: Server[Any], message: Message, request: HttpRequest) -> HttpResponse:
    """Return the answer to a plain request: its result or error, as one JSON document."""
    version = request.META.get(VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
    runner = ServerRunner(server, Connection.from_envelope(version, None, None), {})
    try:
        result = _run(runner.on_request(_OneRequest(message["id"]), message["method"], message.get("params")))
        content = json_text.dump({"jsonrpc": "2.0", "id": message["id"], "result": result})
    except Exception as error:
        answer = JSONRPCError(jsonrpc="2.0", id=message["id"], error=_convert_error(error))
        content = answer.model_dump_json(by_alias=True, exclude_unset=True).encode()
    return HttpResponse(content, content_type=JSON_CONTENT_TYPE)


def _run(awaitable: Awaitable[T]) -> T:
    """Return the result of a coroutine that never waits: what it calls is synchronous (`DirectBridge`)."""
    assert isinstance(awaitable, Coroutine)  # noqa: S101 - the SDK's type says less
    try:
        awaitable.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    awaitable.close()
    raise RuntimeError("A handler waits for something that cannot come.")


def _convert_error(error: Exception) -> ErrorData:
    known = handler_exception_to_error_data(error)
    if known is not None:
        return known
    log.error("mcp.crashed\n%s", logs.format_safely(error))
    return ErrorData(code=INTERNAL_ERROR, message="Internal server error")


@dataclass(frozen=True, slots=True)
class _OneRequest:
    """What a handler knows of its request. It cannot send the client anything before its answer."""

    request_id: int | str
    can_send_request: bool = False
    message_metadata: None = None

    @property
    def transport(self) -> TransportContext:
        return TransportContext(kind="streamable-http", can_send_request=False)

    @property
    def cancel_requested(self) -> anyio.Event:
        """An event that never comes: a client cancels by another request, which finds nothing that runs."""
        return anyio.Event()

    async def send_raw_request(
        self, method: str, _: Mapping[str, Any] | None, __: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        return None

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        return None
