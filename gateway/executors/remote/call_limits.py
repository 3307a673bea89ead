"""Bulkheads: a slow upstream cannot take all threads. Each connection has a limit of concurrent calls in each process.

One caller, an end user of a client or a client itself, never takes them all. While others use the connection, it gets
at most half; otherwise all but one, so that the next caller does not have to wait for calls that hang.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from core.database.deadlines import Deadline
from gateway.executors.base import ClientSubject
from gateway.executors.remote.errors import build_busy_error
from registry.catalog.connections import ConnectionConfig

WAIT_SECONDS = 0.5
SHARED_SECONDS = 60.0  # for which others count as users of a connection after their last call


class InFlightCalls:
    """Counts the calls of one connection that run now."""

    def __init__(self) -> None:
        self._counts: Counter[ClientSubject] = Counter()
        self._total = 0
        self._last_caller: ClientSubject | None = None
        self._shared_until = 0.0
        self._changed = Condition()

    @contextmanager
    def hold_place(self, caller: ClientSubject, limit: int, *, seconds: float) -> Iterator[None]:
        """Hold one of `limit` places. Raises UpstreamBusyError if the caller may have none in time."""
        with self._changed:
            self._note_caller(caller)
            if not self._changed.wait_for(lambda: self._may_enter(caller, limit), timeout=seconds):
                raise build_busy_error()
            self._counts[caller] += 1
            self._total += 1
        try:
            yield
        finally:
            with self._changed:
                self._counts[caller] -= 1
                if not self._counts[caller]:
                    del self._counts[caller]
                self._total -= 1
                self._changed.notify_all()  # not every caller that waits may take the place

    def _note_caller(self, caller: ClientSubject) -> None:
        if self._last_caller not in (None, caller):
            self._shared_until = time.monotonic() + SHARED_SECONDS
        self._last_caller = caller

    def _may_enter(self, caller: ClientSubject, limit: int) -> bool:
        share = limit // 2 if time.monotonic() < self._shared_until else limit - 1
        return self._total < limit and self._counts[caller] < max(share, 1)


_calls: dict[str, InFlightCalls] = {}


@contextmanager
def limit_calls(config: ConnectionConfig, caller: ClientSubject, deadline: Deadline) -> Iterator[None]:
    """Hold a place of the connection. Raises UpstreamBusyError after half a second without one."""
    calls = _calls.get(config.name) or _calls.setdefault(config.name, InFlightCalls())
    seconds = min(WAIT_SECONDS, deadline.get_remaining_ms() / 1000)
    with calls.hold_place(caller, config.max_in_flight, seconds=seconds):
        yield
