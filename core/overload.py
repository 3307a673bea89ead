"""Stop asking: a guard for each service that this process calls, and rate limits for those who call it.

A guard is one object for a service. Its circuit breaker stops calls to a service that keeps failing, its places limit
the calls that run at a time, and its budget limits retries. Where it lets no call through it raises Overloaded, which
callers turn into an error of their own. Each process counts for itself.
"""

import logging
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Condition, Lock
from typing import Any

from core.records import record

log = logging.getLogger(__name__)

OTHERS_FAILURE_SHARE = 0.25  # without the caller with most failures, so that a rare failure of others does not count
SHARED_SECONDS = 60.0  # for which others count as users of a service after their last call
RETRY_SHARE = 0.1  # of a retry, earned by each call
MAX_RETRIES_SAVED = 10.0
MAX_BUCKETS = 10_000  # buckets in memory; beyond that the full ones are dropped
ROUNDING = 1e-6  # seconds; float rounding must not cost a request

Caller = Hashable  # for whom a call is; None where nobody in particular calls
Counts = tuple[int, int]  # calls and failures


class Overloaded(Exception):
    """The service gets no call now. `retry_after` is None if only all its places are taken, else seconds."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class FailureRules:
    """When a breaker opens: at least `failure_share` of at least `min_calls` within the window failed.

    With a share of 1 only failures in a row count: a success begins again. Times are in seconds.
    """

    window: int = 30
    min_calls: int = 20
    failure_share: float = 0.5
    first_pause: float = 5.0
    max_pause: float = 60.0


# For a service that is called rarely or slowly, so that half of many calls would be too late.
THREE_IN_A_ROW = FailureRules(window=600, min_calls=3, failure_share=1.0, first_pause=10.0, max_pause=10.0)


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
    """A call that a guard let through. A call that ends without `failed` set says nothing about the service.

    `reason` is for the log, if this call opens the breaker.
    """

    caller: Caller
    is_probe: bool
    failed: bool | None = None
    reason: object = ""


@dataclass(slots=True)
class CallCounts:
    """The calls of one second, of all callers and of each."""

    calls: int = 0
    failures: int = 0
    by_caller: dict[Caller, Counts] = field(default_factory=dict)

    def add(self, caller: Caller, *, failed: bool) -> None:
        """Count one more call."""
        self.calls += 1
        self.failures += failed
        calls, failures = self.by_caller.get(caller, (0, 0))
        self.by_caller[caller] = calls + 1, failures + failed


@dataclass(slots=True)
class CircuitBreaker:
    """Counts calls by second, and opens when too many fail: for everyone, or only for a caller who may be the reason.

    After a pause one call probes the service. If it fails, the next probe waits twice as long; if it succeeds, the
    breaker closes.
    """

    name: str  # in the log
    rules: FailureRules = FailureRules()
    clock: Callable[[], float] = time.monotonic
    _counts: dict[int, CallCounts] = field(default_factory=dict)  # by second
    _probe_at: float | None = None  # None while it is closed
    _open_for: Caller = None  # the only caller for whom it is open; None for everyone
    _pause: float = 0.0
    _is_probing: bool = False
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def guard(self, caller: Caller) -> Iterator[Attempt]:
        """Let one call through, and count it if it says whether it failed. Raises Overloaded if open."""
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

    def _enter(self, caller: Caller) -> bool:
        """Return whether the call is a probe."""
        with self._lock:
            if self._probe_at is None or self._open_for not in (None, caller):
                return False
            wait = self._probe_at - self.clock()
            if wait > 0 or self._is_probing:
                raise Overloaded("paused after several failures", retry_after=max(0.0, wait))
            self._is_probing = True
            return True

    def _leave(self, attempt: Attempt) -> None:
        if attempt.is_probe:
            self._is_probing = False
        if attempt.failed is None:
            return
        if attempt.is_probe:
            self._end_probe(attempt)
        elif not attempt.failed and self.rules.failure_share == 1:
            self._counts.clear()
        else:
            second = int(self.clock())
            counts = self._counts.get(second)
            if counts is None:
                counts = self._counts[second] = CallCounts()
            counts.add(attempt.caller, failed=attempt.failed)
            if self._probe_at is None or self._open_for is not None:
                self._open_if_failing(attempt)

    def _open_if_failing(self, attempt: Attempt) -> None:
        calls, failures = self._sum_counts()
        if calls < self.rules.min_calls or failures < calls * self.rules.failure_share:
            return
        worst, (worst_calls, worst_failures) = self._find_worst_caller()
        other_calls, other_failures = calls - worst_calls, failures - worst_failures
        is_everyones = other_failures > 0 and other_failures >= other_calls * OTHERS_FAILURE_SHARE
        open_for = None if is_everyones else worst
        if self._probe_at is None or open_for != self._open_for:
            self._open_for = open_for
            self._begin_pause(self.rules.first_pause, attempt.reason or f"{failures} of {calls} calls failed")

    def _begin_pause(self, seconds: float, reason: object) -> None:
        self._pause = seconds
        self._probe_at = self.clock() + seconds
        if self._open_for is None:
            log.warning("%s.paused reason=%s seconds=%d", self.name, reason, seconds)

    def _find_worst_caller(self) -> tuple[Caller, Counts]:
        sums: dict[Caller, Counts] = {}
        for second in self._counts.values():
            for caller, (calls, failures) in second.by_caller.items():
                earlier = sums.get(caller, (0, 0))
                sums[caller] = earlier[0] + calls, earlier[1] + failures
        return max(sums.items(), key=lambda item: item[1][1])

    def _end_probe(self, attempt: Attempt) -> None:
        if attempt.failed:
            self._begin_pause(min(self._pause * 2, self.rules.max_pause), attempt.reason or "the probe failed")
        else:
            self._probe_at = self._open_for = None
            self._counts.clear()

    def _sum_counts(self) -> Counts:
        oldest = int(self.clock()) - self.rules.window
        calls = failures = 0
        for second, counts in list(self._counts.items()):
            if second <= oldest:
                del self._counts[second]
            else:
                calls += counts.calls
                failures += counts.failures
        return calls, failures


class InFlightCalls:
    """Counts the calls of one service that run now, so that a slow service cannot take all threads.

    One caller never takes all places. While others use the service, it gets at most half; otherwise all but one, so
    that the next caller does not have to wait for calls that hang.
    """

    def __init__(self) -> None:
        self._counts: dict[Caller, int] = {}
        self._total = 0
        self._last_caller: Caller = None
        self._shared_until = 0.0
        self._changed = Condition()

    @contextmanager
    def hold_place(self, caller: Caller, limit: int, *, seconds: float) -> Iterator[None]:
        """Hold one of `limit` places. Raises Overloaded if the caller may have none in time."""
        with self._changed:
            if self._last_caller not in (None, caller):
                self._shared_until = time.monotonic() + SHARED_SECONDS
            self._last_caller = caller
            may_enter = self._may_enter(caller, limit)
            if not may_enter and not self._changed.wait_for(lambda: self._may_enter(caller, limit), timeout=seconds):
                raise Overloaded("as many calls as it may have at a time")
            self._counts[caller] = self._counts.get(caller, 0) + 1
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

    def _may_enter(self, caller: Caller, limit: int) -> bool:
        share = limit // 2 if time.monotonic() < self._shared_until else limit - 1
        return self._total < limit and self._counts.get(caller, 0) < max(share, 1)


class ServiceGuard:
    """What this process knows of one service that it calls. `name` stands in the log. Thread-safe."""

    def __init__(
        self, name: str, rules: FailureRules = FailureRules(), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._breaker = CircuitBreaker(name, rules, clock)
        self._calls = InFlightCalls()
        self._retries = MAX_RETRIES_SAVED  # starts full, so that a service with few calls is asked again, too
        self._lock = Lock()
        self.get_state = self._breaker.get_state

    @contextmanager
    def let_through(
        self, caller: Caller = None, *, limit: int = 0, seconds: float = 0.0, failures: tuple[type[Exception], ...] = ()
    ) -> Iterator[Attempt]:
        """Let one call through, of at most `limit` at a time (0: any number), for which it waits so long.

        The service failed if the call says so, or if it raises one of `failures`. Raises Overloaded.
        """
        place = self._calls.hold_place(caller, limit, seconds=seconds) if limit else nullcontext()
        with self._breaker.guard(caller) as attempt, place:
            try:
                yield attempt
            except failures as error:
                attempt.failed, attempt.reason = True, error
                raise
            if failures and attempt.failed is None:
                attempt.failed = False

    def earn_retry(self) -> None:
        """Count one call: it may be repeated, but retries are at most a tenth of all calls."""
        with self._lock:
            self._retries = min(MAX_RETRIES_SAVED, self._retries + RETRY_SHARE)

    def spend_retry(self) -> bool:
        """Take one retry, or return False if none is left."""
        with self._lock:
            if self._retries < 1:
                return False
            self._retries -= 1
            return True


_guards: dict[str, ServiceGuard] = {}


def get_guard(name: str, rules: FailureRules = FailureRules()) -> ServiceGuard:
    """Return the guard of a service, created on first use."""
    return _guards.get(name) or _guards.setdefault(name, ServiceGuard(name, rules))


def clear_guards() -> None:
    """Forget all guards, as in a new process."""
    _guards.clear()


@record
class RateLimitDecision:
    """Whether a request is allowed, how many more are allowed immediately, and the seconds to wait if it is not."""

    allowed: bool
    remaining: int
    retry_after: float


class RateLimitBuckets:
    """Leaky buckets (as a meter) for any number of keys in one process. Thread-safe."""

    def __init__(self) -> None:
        self._full_at: dict[Any, float] = {}  # when each bucket will be full again
        self._lock = Lock()

    def take(self, key: Any, rate: int) -> RateLimitDecision:
        """Take one request from the bucket of `key`. `rate` is its size and its requests per second."""
        now = time.monotonic()
        with self._lock:
            full_at = max(self._full_at.get(key, now), now) + 1 / rate
            if full_at - now > 1 + ROUNDING:
                return RateLimitDecision(allowed=False, remaining=0, retry_after=full_at - now - 1)
            if len(self._full_at) >= MAX_BUCKETS:
                self._full_at = {bucket_key: at for bucket_key, at in self._full_at.items() if at > now}
            self._full_at[key] = full_at
        return RateLimitDecision(allowed=True, remaining=int((1 + ROUNDING - (full_at - now)) * rate), retry_after=0.0)

    def charge(self, key: Any, rate: int, count: int) -> None:
        """Take `count` requests that were already made. Later requests wait until the bucket has refilled."""
        with self._lock:
            now = time.monotonic()
            self._full_at[key] = max(self._full_at.get(key, now), now) + count / rate
