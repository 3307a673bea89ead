"""One HTTP request through the SDK's transport, which speaks both generations of the protocol."""

import asyncio
from collections.abc import MutableMapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from django.http import HttpRequest, HttpResponse
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from gateway.mcp_server.transport.sync_bridge import SyncBridge

Message = dict[str, Any]
NOT_SENT_ON = frozenset({"content-length", "content-type"})  # Django adds these itself


def answer_request(server: Server[Any], bridge: SyncBridge, request: HttpRequest) -> HttpResponse:
    """Return the SDK's answer to a request: one JSON document, as nothing is streamed."""
    exchange = _Exchange(request.body)
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=max(len(request.body), 1)
    )
    bridge.run(_handle(manager, _build_scope(request), exchange))
    return exchange.build_response()


async def _handle(manager: StreamableHTTPSessionManager, scope: Message, exchange: "_Exchange") -> None:
    running: AbstractAsyncContextManager[None] = manager.run()
    async with running:
        await manager.handle_request(scope, exchange.receive, exchange.send)


def _build_scope(request: HttpRequest) -> Message:
    """Return the request as ASGI has it."""
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "headers": headers,
    }


class _Exchange:
    """The two callables of ASGI for one request: `receive` and `send`."""

    def __init__(self, body: bytes) -> None:
        self._messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        self._sent: list[MutableMapping[str, Any]] = []

    async def receive(self) -> Message:
        """Return the body, then wait until cancelled: after a disconnect the SDK would not answer."""
        if not self._messages:
            await asyncio.Event().wait()
        return self._messages.pop()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self._sent.append(message)

    def build_response(self) -> HttpResponse:
        start, *parts = self._sent
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
        response = HttpResponse(
            b"".join(part.get("body", b"") for part in parts),
            status=int(start["status"]),
            content_type=headers.get("content-type", ""),
        )
        for name, value in headers.items():
            if name not in NOT_SENT_ON:
                response.headers[name] = value
        return response
