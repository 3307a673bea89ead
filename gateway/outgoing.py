"""Errors of outgoing HTTP calls as API errors."""

from collections.abc import Callable

from core import http
from gateway.errors import Failed, GatewayError, Invalid

# The caller can correct a URL or address that may not be called. All other errors are the other server's.
ERRORS: dict[type[http.OutgoingError], Callable[[str], GatewayError]] = {
    http.BadUrl: lambda message: Invalid(message, reason="bad_url"),
    http.BadRequest: lambda message: Invalid(message, reason="bad_outgoing_request"),
    http.AddressRefused: lambda message: Invalid(message, reason="address_refused"),
    http.TimedOut: lambda message: Failed(message, status=504, reason="upstream_timeout", retryable=True),
    http.Unreachable: lambda message: Failed(message, status=502, reason="upstream_unreachable", retryable=True),
    http.Untrusted: lambda message: Failed(message, status=502, reason="upstream_untrusted"),
    http.BrokenAnswer: lambda message: Failed(message, status=502, reason="upstream_broken"),
    http.TooLarge: lambda message: Failed(message, status=502, reason="upstream_too_large"),
    http.TooManyRedirects: lambda message: Failed(message, status=502, reason="upstream_redirects"),
}

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that may be temporary


def refusal(error: http.OutgoingError) -> GatewayError:
    """Return the API error for an outgoing call that failed."""
    return ERRORS[type(error)](str(error))


def bad_status(status: int, message: str) -> GatewayError:
    """Return the API error for a response with an error status."""
    return Failed(message, status=502, reason="upstream_status", retryable=status in _PASSING)
