"""The tools that a server lists, as new as a call needs them: a tool may have changed since it was approved."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from math import inf
from typing import Any

from registry.imports.mcp_import import digest_tool

PROMISED_SECONDS = 5.0  # a list is believed for longest, even if the server promises more


@dataclass(frozen=True, slots=True)
class ToolListing:
    """What a server lists: a function that returns a tool's definition by its name, or None if it is not listed.

    `valid_seconds` says how long the server promises that the list is true.
    """

    find_definition: Callable[[str], dict[str, Any] | None] = lambda _: None
    valid_seconds: float = 0.0
    digests: dict[str, str] = field(default_factory=dict)  # those asked for so far: a server may list thousands

    def get_digest(self, tool: str) -> str:
        """Return the digest of a tool's definition; empty if the server lists none."""
        if tool not in self.digests:
            definition = self.find_definition(tool)
            self.digests[tool] = digest_tool(definition) if definition else ""
        return self.digests[tool]


class ListedTools:
    """The last list. It is asked for again before each call, except where the server promises to say when it changes.

    Used on the event loop only. Calls that wait at the same time share a list.
    """

    def __init__(self, fetch: Callable[[], Awaitable[ToolListing]]) -> None:
        self._fetch = fetch
        self._listing = ToolListing()
        self._listed_at = -inf
        self._expired_at = -inf
        self._lock = asyncio.Lock()

    async def get_digest(self, tool: str) -> str:
        """Return the digest of a tool's definition as the server lists it now; empty if it lists none."""
        asked_at = time.monotonic()
        async with self._lock:
            if self._listed_at < max(asked_at - self._listing.valid_seconds, self._expired_at):
                began_at = time.monotonic()
                self._listing = await self._fetch()
                self._listed_at = began_at
            return self._listing.get_digest(tool)

    def expire(self) -> None:
        """Note that the server says that its tools changed."""
        self._expired_at = time.monotonic()
