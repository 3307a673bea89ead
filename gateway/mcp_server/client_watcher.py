"""Show a client over stdio how a call goes on at its service, and stop the call if the client cancels it."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from mcp.server.session import ServerSession

T = TypeVar("T")


class ClientWatcher:
    """Sends progress notifications for one request. Made in the event loop; its methods are called in other threads."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._loop = asyncio.get_running_loop()
        self._cancelled = threading.Event()
        self._messages = 0

    def show_progress(self, progress: Mapping[str, Any]) -> None:
        """Send what the service reports. Without a number, the messages are counted: progress must increase."""
        self._messages += 1
        done, total = progress.get("done", float(self._messages)), progress.get("total")
        report = self._session.report_progress(done, total, progress.get("message"))
        asyncio.run_coroutine_threadsafe(report, self._loop)

    def is_cancelled(self) -> bool:
        """Return whether the client has cancelled the request."""
        return self._cancelled.is_set()

    async def follow(self, run: Callable[[], Awaitable[T]]) -> T:
        """Return what a call returns. If the request is cancelled meanwhile, the call learns it and ends by itself."""
        task = asyncio.ensure_future(run())
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self._cancelled.set()
            raise
