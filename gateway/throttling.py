"""How many requests a second a key may make, counted in this process."""

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from core.ratelimit import Buckets, Taken
from gateway.keys import VerifiedKey

_buckets = Buckets()


class KeyThrottle(BaseThrottle):
    """Limits each key to its rate; tells the view, which tells the client (RateLimit header)."""

    taken: Taken | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.taken = view.taken = _buckets.take(key.prefix, key.rate)
        return self.taken.allowed

    def wait(self) -> float | None:
        return self.taken.retry_after if self.taken else None


def charge(key: VerifiedKey, count: int) -> None:
    """Count calls that came with one request: the key waits for them afterwards."""
    _buckets.charge(key.prefix, key.rate, count)
