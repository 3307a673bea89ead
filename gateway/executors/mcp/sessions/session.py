"""A session with an MCP server, kept open by a task of the event loop.

The same task must open and close the SDK's client, so each session has a task that waits until it is closed.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

import httpx2
from mcp.client import Client
from mcp.client._transport import Transport
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    ListToolsResult,
    LoggingLevel,
    LoggingMessageNotificationParams,
    PaginatedRequestParams,
    Tool,
    ToolListChangedNotification,
)

from core.http import get_upstream_networks, message_codec
from core.http.async_client import AsyncCall, build_client
from gateway.executors.mcp import answer_repair, definition_check, resource_tools
from registry.catalog.connections import ConnectionConfig
from registry.imports.mcp_import import digest_tool
from registry.models import Connection

PROMISED_SECONDS = 5.0  # the longest time that a list is used, even if the server promises more
log = logging.getLogger(__name__)
OPEN_SECONDS = 15.0  # for the start of a program and the handshake
CLOSE_SECONDS = 15.0  # for the end of a program, or for notifying the server of the end of the session
IDLE_SECONDS = 300.0
MAX_PAGES = 100
MAX_TOOLS = 5_000
MAX_MESSAGES = 1_000  # that a server can send unasked, in a second
STREAM_SECONDS = 300.0  # of silence on a stream of server-sent events
LOG_LEVEL: LoggingLevel = "info"  # of the messages that servers are asked to send during a call


@dataclass(frozen=True, slots=True)
class ToolListing:
    """What a server lists: a function that returns the definitions of a tool by its name, none if it is not listed.

    `valid_seconds` is how long the server promises that the list is valid.
    """

    find_definitions: Callable[[str], list[dict[str, Any]]] = lambda _: []
    valid_seconds: float = 0.0
    digests: dict[str, frozenset[str]] = field(default_factory=dict)  # so far: a server may list thousands

    def get_digests(self, tool: str) -> frozenset[str]:
        """Return the digests of a tool's definitions: none if it is not listed, two if its name is listed twice."""
        if tool not in self.digests:
            self.digests[tool] = frozenset(map(digest_tool, self.find_definitions(tool)))
        return self.digests[tool]


class ListedTools:
    """The last list. It is requested again before each call, unless the server promises to report changes.

    Used on the event loop only. Calls that wait at the same time share a list.
    """

    def __init__(self, fetch: Callable[[], Awaitable[ToolListing]]) -> None:
        self._fetch = fetch
        self._listing = ToolListing()
        self._listed_at = -inf
        self._expired_at = -inf
        self._lock = asyncio.Lock()

    async def get_digests(self, tool: str) -> frozenset[str]:
        """Return the digests of a tool's definitions as the server lists them now."""
        asked_at = time.monotonic()
        async with self._lock:
            if self._listed_at < max(asked_at - self._listing.valid_seconds, self._expired_at):
                began_at = time.monotonic()
                self._listing = await self._fetch()
                self._listed_at = began_at
            return self._listing.get_digests(tool)

    def expire(self) -> None:
        """Record that the server reports changed tools."""
        self._expired_at = time.monotonic()


class TooManyTools(Exception):
    """The server lists more tools than allowed, or its list does not end."""


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
        self._own_tools: frozenset[str] = frozenset()
        self._listed = ListedTools(self._list_for_call)
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

    async def lists_definition(self, tool: str, digest: str) -> bool:
        """Return whether the server lists a tool now with the definition of this digest."""
        return digest in await self._listed.get_digests(tool)

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the definitions of all tools, as the server sends them. Raises TooManyTools."""
        pages = await self._list_pages()
        tools = _drop_repeated(definition for page in pages for definition in _read_definitions(page))
        names = {tool["name"] for tool in tools if isinstance(tool.get("name"), str)}
        return [*tools, *resource_tools.list_additional(self.client, names)]

    def find_runner(self, tool: str) -> Callable[[Client, dict[str, Any]], Awaitable[CallToolResult]] | None:
        """Return what runs a tool that is not the server's own; None for one that is."""
        return None if tool in self._own_tools else resource_tools.RUNNERS.get(tool)

    async def _list_for_call(self) -> ToolListing:
        pages = await self._list_pages()
        own: dict[str, list[Tool | dict[str, Any]]] = {}
        for page in pages:
            for tool in page.tools:
                own.setdefault(tool.name, []).append(tool)
            for unusual in _get_unusual_tools(page):
                if isinstance(unusual.get("name"), str):
                    own.setdefault(unusual["name"], []).append(unusual)
        additional = {tool["name"]: tool for tool in resource_tools.list_additional(self.client, own)}
        self._own_tools = frozenset(own)

        def find_definitions(name: str) -> list[dict[str, Any]]:
            if name in own:
                return list(map(_read_definition, own[name]))
            return [additional[name]] if name in additional else []

        return ToolListing(find_definitions, self._get_promised_seconds(pages))

    async def _list_pages(self) -> list[ListToolsResult]:
        pages: list[ListToolsResult] = []
        cursor: str | None = None
        known = set[str]()
        for _ in range(MAX_PAGES):
            try:
                pages.append(await self.client.session.list_tools(params=PaginatedRequestParams(cursor=cursor)))
            except MCPError:
                if cursor != "":
                    raise
                return pages  # servers from before 2026-07-28 can end a list with it
            cursor = pages[-1].next_cursor
            if cursor is None or cursor in known:
                return pages
            known.add(cursor)
            if sum(len(page.tools) for page in pages) > MAX_TOOLS:
                break
        raise TooManyTools  # a part of the list would look as if the server had dropped the rest

    def _get_promised_seconds(self, pages: list[ListToolsResult]) -> float:
        """Return how long the server promises that its list is valid, or that it would report changes."""
        seconds = min(page.ttl_ms for page in pages) / 1000
        tools = self.client.server_capabilities.tools
        if tools is not None and tools.list_changed and self._is_listening:
            seconds = PROMISED_SECONDS
        return min(seconds, PROMISED_SECONDS)

    @property
    def _is_listening(self) -> bool:
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
            self._listed.expire()

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


def _read_definitions(page: ListToolsResult) -> list[dict[str, Any]]:
    """Return the definitions of the tools of a page, also of those that do not follow the protocol."""
    return [*map(_read_definition, page.tools), *_get_unusual_tools(page)]


def _drop_repeated(tools: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return definitions without those that were listed before: a server may answer a cursor with the first page."""
    by_digest: dict[tuple[str, str], dict[str, Any]] = {}
    for tool in tools:
        by_digest.setdefault((str(tool.get("name")), digest_tool(tool)), tool)
    return list(by_digest.values())


def _get_unusual_tools(page: ListToolsResult) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = (page.meta or {}).get(answer_repair.UNUSUAL_TOOLS, [])
    return tools


def _read_definition(tool: Tool | dict[str, Any]) -> dict[str, Any]:
    if isinstance(tool, dict):
        return tool
    return tool.model_dump(by_alias=True, mode="json", exclude_none=True)


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
