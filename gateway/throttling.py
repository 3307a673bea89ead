"""The rate limit of an API key, counted per process."""

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from core.ratelimit import Buckets, Taken
from gateway.keys import VerifiedKey

_buckets = Buckets()


class KeyThrottle(BaseThrottle):
    """Limits each key to its rate. Stores the decision on the view, for the RateLimit header."""

    taken: Taken | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.taken = view.taken = _buckets.take(key.prefix, key.rate)
        return self.taken.allowed

    def wait(self) -> float | None:
        return self.taken.retry_after if self.taken else None


def charge(key: VerifiedKey, count: int) -> None:
    """Charge a key for further calls of the same request; its next request waits until they are regained."""
    _buckets.charge(key.prefix, key.rate, count)
