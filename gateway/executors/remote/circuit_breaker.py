"""Circuit breakers: an upstream that keeps failing gets no calls for a while. One breaker per connection and process.

A breaker opens when half of at least 20 calls within 30 seconds failed: for everyone if several callers had failures,
else only for the one caller, who may be the reason. After 5 seconds one call probes the upstream. If it fails, the next
probe waits twice as long, up to a minute; if it succeeds, the breaker closes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from threading import Lock

from gateway.executors.base import ClientSubject
from gateway.executors.remote.errors import build_circuit_open_error

WINDOW_SECONDS = 30
MIN_CALLS = 20
FAILURE_SHARE = 0.5
OTHERS_FAILURE_SHARE = 0.25  # without the caller with most failures, so that a rare failure of others does not count
FIRST_PROBE_SECONDS = 5.0
MAX_PROBE_SECONDS = 60.0


CALLERS_STATUSES = frozenset({501, 505})  # from 500 on, but they say that the call is wrong, not that the service fails

Counts = tuple[int, int]  # calls and failures


def is_failure_status(status: int) -> bool:
    """Return whether an HTTP status says that the upstream failed, and not that the call is wrong."""
    return status >= 500 and status not in CALLERS_STATUSES


@dataclass(frozen=True, slots=True)
class CircuitState:
    """What a breaker knows: its calls and failures within the window, and seconds until a probe if it is open.

    One that is open for a single caller counts as closed.
    """

    is_open: bool = False
    calls: int = 0
    failures: int = 0
    probe_in_seconds: float = 0.0


@dataclass(slots=True)
class Attempt:
    """A call that a breaker let through. A call that ends without `failed` set says nothing about the upstream."""

    caller: ClientSubject
    is_probe: bool
    failed: bool | None = None


@dataclass(slots=True)
class CallCounts:
    """The calls of one second, of all callers and of each."""

    calls: int = 0
    failures: int = 0
    by_caller: dict[ClientSubject, Counts] = field(default_factory=dict)

    def add(self, caller: ClientSubject, *, failed: bool) -> None:
        """Count one more call."""
        self.calls += 1
        self.failures += failed
        calls, failures = self.by_caller.get(caller, (0, 0))
        self.by_caller[caller] = calls + 1, failures + failed


@dataclass(slots=True)
class CircuitBreaker:
    """Counts the calls of one connection, by second."""

    clock: Callable[[], float] = time.monotonic
    _counts: dict[int, CallCounts] = field(default_factory=dict)  # by second
    _probe_at: float | None = None  # None while it is closed
    _open_for: ClientSubject | None = None  # the only caller that it is open for; None for everyone
    _probe_wait: float = FIRST_PROBE_SECONDS
    _is_probing: bool = False
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def guard(self, caller: ClientSubject) -> Iterator[Attempt]:
        """Let one call through, and count it if it says whether it failed. Raises UpstreamBusyError if open."""
        attempt = Attempt(caller, self._enter(caller))
        try:
            yield attempt
        finally:
            with self._lock:
                self._leave(attempt)

    def get_state(self) -> CircuitState:
        """Return what the breaker knows now."""
        with self._lock:
            calls, failures = self._sum_counts()
            if self._probe_at is None or self._open_for is not None:
                return CircuitState(calls=calls, failures=failures)
            return CircuitState(True, calls, failures, max(0.0, self._probe_at - self.clock()))

    def _enter(self, caller: ClientSubject) -> bool:
        """Return whether the call is a probe."""
        with self._lock:
            if self._probe_at is None or self._open_for not in (None, caller):
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
            self._counts.setdefault(int(self.clock()), CallCounts()).add(attempt.caller, failed=attempt.failed)
            if self._probe_at is None or self._open_for is not None:
                self._open_if_failing()

    def _open_if_failing(self) -> None:
        calls, failures = self._sum_counts()
        if calls < MIN_CALLS or failures < calls * FAILURE_SHARE:
            return
        worst, (worst_calls, worst_failures) = self._find_worst_caller()
        other_calls, other_failures = calls - worst_calls, failures - worst_failures
        is_everyones = other_failures > 0 and other_failures >= other_calls * OTHERS_FAILURE_SHARE
        open_for = None if is_everyones else worst
        if self._probe_at is None or open_for != self._open_for:
            self._open_for = open_for
            self._probe_wait = FIRST_PROBE_SECONDS
            self._probe_at = self.clock() + self._probe_wait

    def _find_worst_caller(self) -> tuple[ClientSubject, Counts]:
        sums: dict[ClientSubject, Counts] = {}
        for second in self._counts.values():
            for caller, (calls, failures) in second.by_caller.items():
                earlier = sums.get(caller, (0, 0))
                sums[caller] = earlier[0] + calls, earlier[1] + failures
        return max(sums.items(), key=lambda item: item[1][1])

    def _end_probe(self, *, failed: bool) -> None:
        if failed:
            self._probe_wait = min(self._probe_wait * 2, MAX_PROBE_SECONDS)
            self._probe_at = self.clock() + self._probe_wait
        else:
            self._probe_at = self._open_for = None
            self._counts.clear()

    def _sum_counts(self) -> Counts:
        oldest = int(self.clock()) - WINDOW_SECONDS
        for second in [second for second in self._counts if second <= oldest]:
            del self._counts[second]
        counts = self._counts.values()
        return sum(each.calls for each in counts), sum(each.failures for each in counts)


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
