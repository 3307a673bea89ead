"""The tools that a server lists: for an import, and before each call."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

from mcp.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, PaginatedRequestParams, Tool

from gateway.executors.mcp.sessions import answer_repair, resource_tools
from registry.imports.mcp_import import digest_tool

PROMISED_SECONDS = 5.0  # the longest time that a list is used, even if the server promises more
MAX_PAGES = 100
MAX_TOOLS = 5_000

Definition = dict[str, Any]


class TooManyTools(Exception):
    """The server lists more tools than allowed, or its list does not end."""


class ListingSession(Protocol):
    """What a list needs of its session."""

    @property
    def client(self) -> Client:
        """The SDK's client of the open session."""

    @property
    def is_listening(self) -> bool:
        """Whether messages that the server sends unasked would arrive."""


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

    def __init__(self, session: ListingSession) -> None:
        self._session = session
        self._own_names: frozenset[str] = frozenset()
        self._listing = ToolListing()
        self._listed_at = -inf
        self._expired_at = -inf
        self._lock = asyncio.Lock()

    async def has_definition(self, tool: str, digest: str) -> bool:
        """Return whether the server lists a tool now with the definition of this digest."""
        return digest in await self._get_digests(tool)

    def find_runner(self, tool: str) -> Callable[[Client, dict[str, Any]], Awaitable[CallToolResult]] | None:
        """Return what runs a tool that is not the server's own; None for one that is."""
        return None if tool in self._own_names else resource_tools.RUNNERS.get(tool)

    def expire(self) -> None:
        """Record that the server reports changed tools."""
        self._expired_at = time.monotonic()

    async def _get_digests(self, tool: str) -> frozenset[str]:
        """Return the digests of a tool's definitions as the server lists them now."""
        asked_at = time.monotonic()
        async with self._lock:
            if self._listed_at < max(asked_at - self._listing.valid_seconds, self._expired_at):
                began_at = time.monotonic()
                self._listing = await self._fetch_listing()
                self._listed_at = began_at
            return self._listing.get_digests(tool)

    async def _fetch_listing(self) -> ToolListing:
        pages = await _list_pages(self._session.client)
        own: dict[str, list[Tool | dict[str, Any]]] = {}
        for page in pages:
            for tool in page.tools:
                own.setdefault(tool.name, []).append(tool)
            for unusual in _get_unusual_tools(page):
                if isinstance(unusual.get("name"), str):
                    own.setdefault(unusual["name"], []).append(unusual)
        additional = {tool["name"]: tool for tool in resource_tools.list_additional(self._session.client, own)}
        self._own_names = frozenset(own)

        def find_definitions(name: str) -> list[dict[str, Any]]:
            if name in own:
                return list(map(_read_definition, own[name]))
            return [additional[name]] if name in additional else []

        return ToolListing(find_definitions, self._get_promised_seconds(pages))

    def _get_promised_seconds(self, pages: list[ListToolsResult]) -> float:
        """Return how long the server promises that its list is valid, or that it would report changes."""
        seconds = min(page.ttl_ms for page in pages) / 1000
        tools = self._session.client.server_capabilities.tools
        if tools is not None and tools.list_changed and self._session.is_listening:
            seconds = PROMISED_SECONDS
        return min(seconds, PROMISED_SECONDS)


async def list_tools(client: Client) -> list[dict[str, Any]]:
    """Return the definitions of all tools, as the server sends them. Raises TooManyTools."""
    pages = await _list_pages(client)
    tools = _drop_repeated(definition for page in pages for definition in _read_definitions(page))
    names = {tool["name"] for tool in tools if isinstance(tool.get("name"), str)}
    return [*tools, *resource_tools.list_additional(client, names)]


async def _list_pages(client: Client) -> list[ListToolsResult]:
    pages: list[ListToolsResult] = []
    cursor: str | None = None
    known = set[str]()
    for _ in range(MAX_PAGES):
        try:
            pages.append(await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor)))
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
