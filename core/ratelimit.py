"""Counting requests in memory: a bucket a key, which holds one second's worth and fills as time passes."""

import time
from dataclasses import dataclass
from threading import Lock
from typing import Any

KEPT = 10_000  # buckets; beyond that the full ones are dropped
ROUNDING = 1e-6  # seconds; what adding up floats may lose must not cost a request


@dataclass(frozen=True, slots=True)
class Taken:
    """Whether a request may go on, how many may follow at once, and when the next one may if not (seconds)."""

    allowed: bool
    remaining: int
    retry_after: float


class Buckets:
    """The leaky bucket as a meter, for any number of keys in one process."""

    def __init__(self) -> None:
        self._full_at: dict[Any, float] = {}  # when each bucket will be full again
        self._lock = Lock()

    def take(self, key: Any, rate: int) -> Taken:
        """Take one request out of the bucket of `key`, which holds and regains `rate` a second."""
        now = time.monotonic()
        with self._lock:
            full_at = max(self._full_at.get(key, now), now) + 1 / rate
            if full_at - now > 1 + ROUNDING:
                return Taken(allowed=False, remaining=0, retry_after=full_at - now - 1)
            if len(self._full_at) >= KEPT:
                self._full_at = {kept: at for kept, at in self._full_at.items() if at > now}
            self._full_at[key] = full_at
        return Taken(allowed=True, remaining=int((1 + ROUNDING - (full_at - now)) * rate), retry_after=0.0)

    def charge(self, key: Any, rate: int, count: int) -> None:
        """Take out what was used already: the next request waits until the bucket has regained it."""
        with self._lock:
            now = time.monotonic()
            self._full_at[key] = max(self._full_at.get(key, now), now) + count / rate
