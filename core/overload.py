"""Stop asking too much: pauses after failures, and rate limits."""

import logging
import time
from dataclasses import dataclass
from threading import Lock
from typing import Any

log = logging.getLogger(__name__)
MAX_FAILURES = 3  # in a row
PAUSE_SECONDS = 10.0
MAX_BUCKETS = 10_000  # buckets in memory; beyond that the full ones are dropped
ROUNDING = 1e-6  # seconds; float rounding must not cost a request


@dataclass(slots=True)
class FailurePause:
    """Counts a service's failures in this process. After three in a row it is paused for ten seconds.

    Threads share it without a lock: a lost count only delays a pause by one failure. `name` is used in the log.
    """

    name: str
    _failures: int = 0
    _paused_until: float = 0.0

    def is_active(self) -> bool:
        """Return whether the service is paused."""
        return time.monotonic() < self._paused_until

    def count_failure(self, reason: object) -> None:
        """Count one failure, and begin or prolong the pause if there were three in a row."""
        self._failures += 1
        if self._failures >= MAX_FAILURES:
            self._paused_until = time.monotonic() + PAUSE_SECONDS
            log.warning("%s.paused reason=%s seconds=%d", self.name, reason, PAUSE_SECONDS)

    def count_success(self) -> None:
        """Forget the failures: the service answers."""
        self._failures = 0

    def clear(self) -> None:
        """Forget everything, as in a new process."""
        self._failures, self._paused_until = 0, 0.0


@dataclass(frozen=True, slots=True)
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
