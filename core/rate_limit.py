"""Rate limits in memory: one leaky bucket per key, which holds one second's worth of requests."""

import time
from dataclasses import dataclass
from threading import Lock
from typing import Any

MAX_BUCKETS = 10_000  # buckets in memory; beyond that the full ones are dropped
ROUNDING = 1e-6  # seconds; float rounding must not cost a request


@dataclass(frozen=True, slots=True)
class RateLimitDecision:
    """Whether a request is allowed, how many more are allowed at once, and the seconds to wait if it is not."""

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
