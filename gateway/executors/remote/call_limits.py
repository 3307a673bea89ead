"""Bulkheads: a slow upstream cannot take all threads. Each connection has so many calls at a time in each process."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition

from core.deadlines import Deadline
from gateway.executors.remote.not_applied_errors import build_busy_error
from registry.catalog.connections import ConnectionConfig

WAIT_SECONDS = 0.5


class InFlightCalls:
    """Counts the calls of one connection that run now."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = Condition()

    @contextmanager
    def hold_place(self, limit: int, *, seconds: float) -> Iterator[None]:
        """Hold one of `limit` places. Raises UpstreamBusyError if none becomes free in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._count < limit, timeout=seconds):
                raise build_busy_error()
            self._count += 1
        try:
            yield
        finally:
            with self._changed:
                self._count -= 1
                self._changed.notify()


_calls: dict[str, InFlightCalls] = {}


@contextmanager
def limit_calls(config: ConnectionConfig, deadline: Deadline) -> Iterator[None]:
    """Hold a place of the connection. Raises UpstreamBusyError after half a second without one."""
    calls = _calls.get(config.name) or _calls.setdefault(config.name, InFlightCalls())
    seconds = min(WAIT_SECONDS, deadline.get_remaining_ms() / 1000)
    with calls.hold_place(config.max_in_flight, seconds=seconds):
        yield
