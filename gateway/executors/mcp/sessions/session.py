"""A session with an MCP server, kept open by a task of the event loop.

The same task must open and close the SDK's client, so each session has a task that waits until it is closed.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

import httpx2
from mcp.client import Client
from mcp.client._transport import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import (
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    LoggingLevel,
    LoggingMessageNotificationParams,
    ToolListChangedNotification,
)

from core.http import get_upstream_networks, message_codec
from core.http.async_client import AsyncCall, build_client
from gateway.executors.mcp import definition_check
from gateway.executors.mcp.sessions import answer_repair
from gateway.executors.mcp.sessions.tool_listing import ListedTools
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

log = logging.getLogger(__name__)
OPEN_SECONDS = 15.0  # for the start of a program and the handshake
CLOSE_SECONDS = 15.0  # for the end of a program, or for notifying the server of the end of the session
IDLE_SECONDS = 300.0
MAX_MESSAGES = 1_000  # that a server can send unasked, in a second
STREAM_SECONDS = 300.0  # of silence on a stream of server-sent events
LOG_LEVEL: LoggingLevel = "info"  # of the messages that servers are asked to send during a call


class ServerListener(Protocol):
    """What a call does with messages that the server sends while the call runs, on the event loop."""

    @property
    def is_waiting(self) -> bool:
        """Whether the call waits for the answer of the user."""

    async def ask(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Answer a question for the user."""

    def note_message(self, text: Any) -> None:
        """Take a message of the server's log."""


class McpSession:
    """One session. Its methods run on the event loop."""

    def __init__(self, config: ConnectionConfig, opening: AsyncCall) -> None:
        self.config = config
        self.opening = opening  # the outcome of the requests of the handshake
        self.used_at = time.monotonic()
        self._running = 0  # calls
        self._listeners: list[ServerListener] = []
        self._client: Client | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self.tools = ListedTools(self)
        self._message_second, self._message_count = 0, 0
        self._task = asyncio.create_task(self._keep_open())

    @property
    def is_open(self) -> bool:
        """Whether the session can take calls, or is about to."""
        return not self._task.done() and not self._closing.is_set()

    @property
    def is_running(self) -> bool:
        """Whether a call runs in the session."""
        return self._running > 0

    @property
    def client(self) -> Client:
        """The SDK's client of an open session."""
        if self._client is None:
            raise RuntimeError("The session is not open.")
        return self._client

    async def wait_until_open(self) -> None:
        """Return once the server has answered the handshake. Raises what the SDK raised if it did not."""
        await asyncio.shield(self._ready)

    @contextmanager
    def run_call(self) -> Iterator[None]:
        """Keep the session open while a call runs in it."""
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1
            self.used_at = time.monotonic()

    @contextmanager
    def listen(self, listener: ServerListener) -> Iterator[None]:
        """Pass on what the server sends during a call."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def close(self) -> None:
        """Start closing the session; calls that run fail."""
        self._closing.set()

    def add_close_callback(self, callback: Callable[["McpSession"], None]) -> None:
        """Call a function once the session has fully ended."""
        self._task.add_done_callback(lambda _: callback(self))

    async def wait_until_closed(self) -> None:
        """Return once the session has fully ended."""
        await asyncio.wait([self._task])

    @property
    def is_listening(self) -> bool:
        """Whether messages that the server sends unasked would arrive."""
        return self.config.is_program or self.opening.is_listening

    async def _keep_open(self) -> None:
        try:
            async with asyncio.timeout(OPEN_SECONDS) as limit, AsyncExitStack() as stack:
                transport = await stack.enter_async_context(_open_transport(self.config))
                client = Client(
                    transport,
                    message_handler=self._receive,
                    elicitation_callback=self._ask,
                    logging_callback=self._log,
                    log_level=LOG_LEVEL,
                    cache=None,
                )
                self._client = await stack.enter_async_context(client)
                answer_repair.repair_results(self._client.session)
                limit.reschedule(None)
                self._ready.set_result(None)
                await self._wait_until_unused()
                limit.reschedule(asyncio.get_running_loop().time() + CLOSE_SECONDS)
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # perhaps nobody is waiting any longer
            else:
                log.info("mcp.session_lost connection=%s error=%s", self.config.name, type(error).__name__)
        finally:
            self._closing.set()

    async def _wait_until_unused(self) -> None:
        """Return once the session should close, or no call has run in it for a while."""
        while not self._closing.is_set():
            idle_seconds = 0.0 if self.is_running else time.monotonic() - self.used_at
            if idle_seconds >= IDLE_SECONDS:
                self._closing.set()
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), IDLE_SECONDS - idle_seconds)

    async def _receive(self, message: IncomingMessage) -> None:
        """Record that the tools changed. All other messages that a server sends unasked are ignored, but counted."""
        self.count_message()
        if isinstance(message, ToolListChangedNotification):
            self.tools.expire()

    async def _ask(
        self,
        context: ClientRequestContext,
        params: ElicitRequestParams,
    ) -> ElicitResult | ErrorData:
        """Answer a question that a server up to 2025-11-25 asks while a call runs."""
        self.count_message()
        listener = self._find_listener()
        return await listener.ask(params) if listener else ElicitResult(action="decline")

    async def _log(self, params: LoggingMessageNotificationParams) -> None:
        if (listener := self._find_listener()) is not None:
            listener.note_message(params.data)

    def _find_listener(self) -> ServerListener | None:
        """Return the call that a message belongs to. The message does not say, so it must be the only one that runs."""
        running = [each for each in self._listeners if not each.is_waiting]
        return running[0] if len(running) == 1 else None

    def count_message(self) -> None:
        """Count the messages that a server sends unasked, and close a session with too many."""
        second = int(time.monotonic())
        if second != self._message_second:
            self._message_second, self._message_count = second, 0
        self._message_count += 1
        if self._message_count > MAX_MESSAGES:
            log.warning("mcp.too_many_messages connection=%s", self.config.name)
            self.close()


def _open_transport(config: ConnectionConfig) -> AbstractAsyncContextManager[Transport]:
    if config.is_program:
        return _open_program(config)
    return _open_http(config)


@asynccontextmanager
async def _open_http(config: ConnectionConfig) -> AsyncIterator[Transport]:
    if config.transport == Connection.Transport.SSE:
        yield sse_client(config.base_url, sse_read_timeout=STREAM_SECONDS, httpx_client_factory=_build_http_client)
        return
    async with _build_http_client() as client:
        yield streamable_http_client(config.base_url, http_client=client)


def _build_http_client(*_: Any, **__: Any) -> httpx2.AsyncClient:
    """Return a guarded client. The SDK would set time-outs, which the deadline of a call replaces."""
    return build_client(get_upstream_networks())


@asynccontextmanager
async def _open_program(config: ConnectionConfig) -> AsyncIterator[Transport]:
    """Start the program of a connection. Its error output is not kept: it may contain anything."""
    command, *arguments = definition_check.find_command(config.command)
    with open(os.devnull, "w") as errors:
        program = StdioServerParameters(command=command, args=arguments, encoding=message_codec.ENCODING)
        yield stdio_client(program, errlog=errors)
