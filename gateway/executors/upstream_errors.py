"""Errors of outgoing HTTP calls as API errors."""

from collections.abc import Callable

from core import http
from gateway.contracts.errors import GatewayError, InternalError, InvalidRequestError

# The caller can correct a URL or address that may not be called. All other errors are the other server's.
API_ERRORS: dict[type[http.OutgoingError], Callable[[str], GatewayError]] = {
    http.BadUrl: lambda message: InvalidRequestError(message, reason="bad_url"),
    http.BadRequest: lambda message: InvalidRequestError(message, reason="bad_outgoing_request"),
    http.AddressRefused: lambda message: InvalidRequestError(message, reason="address_refused"),
    http.TimedOut: lambda message: InternalError(message, status=504, reason="upstream_timeout", retryable=True),
    http.Unreachable: lambda message: InternalError(message, status=502, reason="upstream_unreachable", retryable=True),
    http.Untrusted: lambda message: InternalError(message, status=502, reason="upstream_untrusted"),
    http.BrokenAnswer: lambda message: InternalError(message, status=502, reason="upstream_broken"),
    http.TooLarge: lambda message: InternalError(message, status=502, reason="upstream_too_large"),
    http.TooManyRedirects: lambda message: InternalError(message, status=502, reason="upstream_redirects"),
}

_TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that may be temporary


def to_api_error(error: http.OutgoingError) -> GatewayError:
    """Return the API error for an outgoing call that failed."""
    return API_ERRORS[type(error)](str(error))


def build_status_error(status: int, message: str) -> GatewayError:
    """Return the API error for a response with an error status."""
    return InternalError(message, status=502, reason="upstream_status", retryable=status in _TEMPORARY_STATUSES)
