"""The rate limit of an API key, counted per process."""

from typing import Any

from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from core.overload import RateLimitBuckets, RateLimitDecision
from gateway.clients.key_verification import VerifiedKey

_buckets = RateLimitBuckets()


class KeyThrottle(BaseThrottle):
    """Limits each key to its rate. Stores the decision on the view, for the RateLimit header."""

    rate_limit: RateLimitDecision | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        key: VerifiedKey = request.auth  # type: ignore[assignment]  # DRF's stubs know only its own Token
        self.rate_limit = view.rate_limit = take(key)
        return self.rate_limit.allowed

    def wait(self) -> float | None:
        return self.rate_limit.retry_after if self.rate_limit else None


def take(key: VerifiedKey) -> RateLimitDecision:
    """Take one call from what a key may send now."""
    return _buckets.take(key.prefix, key.rate)


def charge_calls(key: VerifiedKey, count: int) -> None:
    """Charge a key for further calls of the same request; its next request waits until they are regained."""
    _buckets.charge(key.prefix, key.rate, count)
