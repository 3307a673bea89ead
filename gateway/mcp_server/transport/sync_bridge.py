"""Run a coroutine of the MCP SDK and the synchronous code that it waits for, both in the thread of the request.

The SDK is asynchronous; the gateway and Django's ORM are not. Each request has its own event loop (40 µs). When a
handler has work for the gateway, the loop stops, the work runs outside of it, and the loop goes on. So the work keeps
the request's thread with its database connection and place in the pool, and no other thread takes part.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")


class SyncBridge:
    """An event loop that stops whenever its coroutine calls synchronous code."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._calls: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the coroutine's result. A bridge runs once."""
        try:
            task = self._loop.create_task(coroutine)
            task.add_done_callback(lambda _: self._loop.stop())
            while not task.done():
                self._loop.run_forever()
                self._make_calls()
            return task.result()
        finally:
            self._loop.close()

    async def call(self, function: Callable[[], T]) -> T:
        """Return the result of a function, which runs outside of the event loop."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._calls.append((function, future))
        self._loop.stop()
        return cast(T, await future)

    def _make_calls(self) -> None:
        calls, self._calls = self._calls, []
        for function, future in calls:
            try:
                result = function()
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(result)
