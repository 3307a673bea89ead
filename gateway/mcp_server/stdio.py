"""Serve MCP over standard input and output, for a client that starts the gateway as its own process."""

import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from asgiref.sync import sync_to_async
from django.db import close_old_connections
from mcp.server.stdio import stdio_server
from rest_framework.exceptions import Throttled

from core import logs
from core.text import json_text
from core.text.json_text import NotStrictJSON
from gateway.access import key_verification, release_routing, request_context
from gateway.access.key_verification import VerifiedKey
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import InvalidRequestError, PermissionDeniedError
from gateway.mcp_server.caller_source import SOURCE, McpCall
from gateway.mcp_server.server import build_instructions, build_server

T = TypeVar("T")


def serve(plaintext: str, *, subject: str = "") -> None:
    """Serve one client until it closes the input. Raises GatewayError if the key is not valid for the subject.

    `plaintext` is the API key of the client. It is checked again for each message.
    """
    source = _StdioSource(plaintext, {"HTTP_GATEWAY_SUBJECT": subject} if subject else {})
    server = build_server(source, instructions=build_instructions(source.open_call()))

    async def run() -> None:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    close_old_connections()  # messages are answered in another thread
    anyio.run(run)


class _StdioSource:
    """The caller of each message: always the same key and headers."""

    can_report = True

    def __init__(self, plaintext: str, meta: dict[str, str]) -> None:
        self._plaintext, self._meta = plaintext, meta
        self._key = self._verify_key()
        self._trace = _start_trace()

    def open_call(self) -> McpCall:
        self._key = key = self._verify_key()
        self._trace = trace = _start_trace()
        logs.trace.set(trace.id)
        decision = key_verification.take_call(key)
        if not decision.allowed:
            raise Throttled(decision.retry_after)
        caller = request_context.identify_caller(key, self._meta)
        caller = request_context.apply_routing(caller, self._meta, trace.at)
        caller = request_context.apply_agent(caller, self._meta, release_routing.get_catalog)
        return McpCall(caller, trace)

    def open_unchecked(self) -> McpCall:
        return McpCall(Caller(self._key), self._trace, in_cohorts=False)  # the key may have been revoked

    def check_arguments(self, arguments: dict[str, Any]) -> None:
        try:
            json_text.parse(json.dumps(arguments).encode())
        except NotStrictJSON as error:
            raise InvalidRequestError(str(error), reason=error.code) from None

    def run(self, function: Callable[[], T]) -> Awaitable[T]:
        def run_and_release() -> T:
            try:
                return function()
            finally:
                close_old_connections()

        return sync_to_async(run_and_release, thread_sensitive=True)()

    def _verify_key(self) -> VerifiedKey:
        key = key_verification.verify(self._plaintext)
        if key is None:
            raise PermissionDeniedError(
                "The API key is not valid: unknown, expired or revoked. Ask for a new one.",
                status=401,
                reason="unauthenticated",
            )
        return key


def _start_trace() -> Trace:
    return Trace(request_context.read_trace_id({}), source=SOURCE)
