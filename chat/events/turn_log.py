"""The events of a running turn, in the memory of the process that runs it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import orjson

WAKE_SECONDS = 0.015  # events of this time reach a stream together

Waiter = asyncio.Future[bool]  # of a stream on the event loop of the process


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
        self._waiters: list[Waiter] = []

    def append(self, type: str, data: Mapping[str, Any]) -> None:
        """Add an event."""
        content = memoryview(orjson.dumps(data)).tobytes()  # a copy: orjson's has room for 4 KB more
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
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        with self._lock:
            if len(self._events) > number or self.is_closed:
                return True
            self._waiters.append(waiter)
        timer = loop.call_later(seconds, _finish_wait, waiter, False)
        try:
            return await waiter
        finally:
            timer.cancel()

    def _wake_waiters(self) -> None:
        if self._waiters:
            _wake_soon(self._waiters)
            self._waiters = []


_waking: list[Waiter] = []  # streams that are woken together
_waking_lock = Lock()


def _wake_soon(waiters: list[Waiter]) -> None:
    """Wake streams within some milliseconds, those of all turns together: waking one costs the loop the same."""
    with _waking_lock:
        is_first = not _waking
        _waking.extend(waiters)
    if is_first:
        loop = waiters[0].get_loop()
        loop.call_soon_threadsafe(loop.call_later, WAKE_SECONDS, _wake_all)


def _wake_all() -> None:
    with _waking_lock:
        waiters, _waking[:] = list(_waking), []
    for waiter in waiters:
        _finish_wait(waiter, True)


def _finish_wait(waiter: Waiter, has_more: bool) -> None:
    if not waiter.done():
        waiter.set_result(has_more)
