"""The events of a running turn, in the memory of the process that runs it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a turn. `data` is JSON. Numbers start at 1 and have no gaps."""

    number: int
    type: str
    data: bytes


class TurnLog:
    """Events in order. One thread appends them; any number of streams on an event loop wait for them."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self.is_closed = False
        self.written = 0  # the number of the last event in the database
        self._events: list[Event] = []
        self._lock = Lock()
        self._waiters: set[_Waiter] = set()

    def append(self, type: str, data: Mapping[str, Any]) -> None:
        """Add an event."""
        content = orjson.dumps(data)
        with self._lock:
            self._events.append(Event(len(self._events) + 1, type, content))
            self._wake_waiters()

    def close(self) -> None:
        """Say that there will be no more events."""
        with self._lock:
            self.is_closed = True
            self._wake_waiters()

    def get_after(self, number: int) -> list[Event]:
        """Return the events after a number."""
        return self._events[number:]

    async def wait_for_more(self, number: int, *, seconds: float) -> bool:
        """Wait until there are events after a number or the log is closed. Return False if nothing comes in time."""
        waiter = _Waiter(asyncio.get_running_loop())
        with self._lock:
            if len(self._events) > number or self.is_closed:
                return True
            self._waiters.add(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter.is_woken
        except TimeoutError:
            return False
        finally:
            with self._lock:
                self._waiters.discard(waiter)
        return True

    def _wake_waiters(self) -> None:
        for waiter in self._waiters:
            waiter.loop.call_soon_threadsafe(waiter.wake)
        self._waiters.clear()


class _Waiter:
    """A stream that waits on its event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.is_woken: asyncio.Future[None] = loop.create_future()

    def wake(self) -> None:
        if not self.is_woken.done():
            self.is_woken.set_result(None)
