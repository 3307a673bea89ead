"""What goes wrong on the way out, as the envelope tells it."""

from collections.abc import Callable

from core import http
from gateway.errors import Failed, GatewayError, Invalid

# A URL or an address that may not be called is the caller's to mend; all else lies with the other server.
ERRORS: dict[type[http.OutgoingError], Callable[[str], GatewayError]] = {
    http.BadUrl: lambda said: Invalid(said, reason="bad_url"),
    http.BadRequest: lambda said: Invalid(said, reason="bad_outgoing_request"),
    http.AddressRefused: lambda said: Invalid(said, reason="address_refused"),
    http.TimedOut: lambda said: Failed(said, status=504, reason="upstream_timeout", retryable=True),
    http.Unreachable: lambda said: Failed(said, status=502, reason="upstream_unreachable", retryable=True),
    http.Untrusted: lambda said: Failed(said, status=502, reason="upstream_untrusted"),
    http.BrokenAnswer: lambda said: Failed(said, status=502, reason="upstream_broken"),
    http.TooLarge: lambda said: Failed(said, status=502, reason="upstream_too_large"),
    http.TooManyRedirects: lambda said: Failed(said, status=502, reason="upstream_redirects"),
}

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})  # statuses that may be another one in a moment


def refusal(error: http.OutgoingError) -> GatewayError:
    """Return the error of the API for an outgoing call that did not succeed."""
    return ERRORS[type(error)](str(error))


def bad_status(status: int, message: str) -> GatewayError:
    """Return the error for an answer whose status says that it is none."""
    return Failed(message, status=502, reason="upstream_status", retryable=status in _PASSING)
