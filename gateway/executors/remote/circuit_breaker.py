"""Circuit breakers: an upstream that keeps failing gets no calls for a while. One breaker per connection and process.

A breaker opens when half of at least 20 calls within 30 seconds failed. After 5 seconds one call probes the upstream.
If it fails, the next probe waits twice as long, up to a minute; if it succeeds, the breaker closes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from threading import Lock

from gateway.executors.remote.not_applied_errors import build_circuit_open_error

WINDOW_SECONDS = 30
MIN_CALLS = 20
FAILURE_SHARE = 0.5
FIRST_PROBE_SECONDS = 5.0
MAX_PROBE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class CircuitState:
    """What a breaker knows: its calls and failures within the window, and seconds until a probe if it is open."""

    is_open: bool = False
    calls: int = 0
    failures: int = 0
    probe_in_seconds: float = 0.0


@dataclass(slots=True)
class Attempt:
    """A call that a breaker let through. A call that ends without `failed` set says nothing about the upstream."""

    is_probe: bool
    failed: bool | None = None


@dataclass(slots=True)
class CircuitBreaker:
    """Counts the calls of one connection, by second."""

    clock: Callable[[], float] = time.monotonic
    _counts: dict[int, list[int]] = field(default_factory=dict)  # calls and failures, by second
    _probe_at: float | None = None  # None while it is closed
    _probe_wait: float = FIRST_PROBE_SECONDS
    _is_probing: bool = False
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def guard(self) -> Iterator[Attempt]:
        """Let one call through, and count it if it says whether it failed. Raises UpstreamBusyError if open."""
        attempt = Attempt(self._enter())
        try:
            yield attempt
        finally:
            with self._lock:
                self._leave(attempt)

    def get_state(self) -> CircuitState:
        """Return what the breaker knows now."""
        with self._lock:
            calls, failures = self._sum_counts()
            wait = 0.0 if self._probe_at is None else max(0.0, self._probe_at - self.clock())
            return CircuitState(self._probe_at is not None, calls, failures, wait)

    def _enter(self) -> bool:
        """Return whether the call is a probe."""
        with self._lock:
            if self._probe_at is None:
                return False
            wait = self._probe_at - self.clock()
            if wait > 0 or self._is_probing:
                raise build_circuit_open_error(max(1, ceil(wait)))
            self._is_probing = True
            return True

    def _leave(self, attempt: Attempt) -> None:
        if attempt.is_probe:
            self._is_probing = False
            if attempt.failed is not None:
                self._end_probe(failed=attempt.failed)
        elif attempt.failed is not None:
            counts = self._counts.setdefault(int(self.clock()), [0, 0])
            counts[0] += 1
            counts[1] += attempt.failed
            calls, failures = self._sum_counts()
            if self._probe_at is None and calls >= MIN_CALLS and failures >= calls * FAILURE_SHARE:
                self._probe_wait = FIRST_PROBE_SECONDS
                self._probe_at = self.clock() + self._probe_wait

    def _end_probe(self, *, failed: bool) -> None:
        if failed:
            self._probe_wait = min(self._probe_wait * 2, MAX_PROBE_SECONDS)
            self._probe_at = self.clock() + self._probe_wait
        else:
            self._probe_at = None
            self._counts.clear()

    def _sum_counts(self) -> tuple[int, int]:
        oldest = int(self.clock()) - WINDOW_SECONDS
        for second in [second for second in self._counts if second <= oldest]:
            del self._counts[second]
        return sum(calls for calls, _ in self._counts.values()), sum(failed for _, failed in self._counts.values())


_breakers: dict[str, CircuitBreaker] = {}


def get_breaker(connection: str) -> CircuitBreaker:
    """Return the breaker of a connection, created on first use."""
    return _breakers.get(connection) or _breakers.setdefault(connection, CircuitBreaker())


def get_state(connection: str) -> CircuitState:
    """Return what this process knows of a connection."""
    breaker = _breakers.get(connection)
    return breaker.get_state() if breaker else CircuitState()


def clear() -> None:
    """Forget all breakers, as in a new process."""
    _breakers.clear()
