"""Errors of upstream calls: refused, not applied, unanswered, or not allowed to be sent."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import ceil
from typing import Any

from core import http
from gateway.contracts.errors import (
    GatewayError,
    InternalError,
    InvalidRequestError,
    PermissionDeniedError,
    UpstreamBusyError,
    UpstreamUnreachableError,
    build_outcome_unknown_error,
)
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

SAID = "details.upstream has what it said."
USERS_OWN_CREDENTIALS = frozenset({Connection.Auth.NONE, Connection.Auth.USER_OAUTH})
MAX_RETRY_AFTER = 86_400  # seconds

# The caller can correct a URL or address that is not allowed. All other errors are the other server's.
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

# The caller chose neither the URL nor the headers: these are mistakes in the connection.
_CONFIGURATION_ERRORS: dict[type[http.OutgoingError], tuple[str, str]] = {
    http.BadUrl: ("bad_url", "The service's URL cannot be called."),
    http.BadRequest: ("bad_outgoing_request", "The request to the service cannot be sent."),
    http.AddressRefused: ("address_refused", "The service's address is unknown or not allowed."),
    http.Untrusted: ("upstream_untrusted", "The service cannot be trusted: its certificate is not valid."),
}


def build_denied_error(status: int, config: ConnectionConfig, details: dict[str, Any]) -> GatewayError:
    """Return the error for an answer with status 401 or 403."""
    error: GatewayError
    if status == 401 and config.auth not in USERS_OWN_CREDENTIALS:
        error = InternalError(
            "The service does not accept the gateway's credentials. Nothing was done; tell the administrator.",
            status=502,
            reason="upstream_credentials",
            details=details,
        )
    else:
        said = f" {SAID}" if details else ""
        error = PermissionDeniedError(
            f"The service denies this call to this user.{said}", reason="upstream_denied", details=details
        )
    error.is_final = status != 401  # other credentials may be accepted
    return error


def read_retry_seconds(headers: Mapping[str, str]) -> int | None:
    """Return the whole seconds of the header Retry-After, from 1 to a day; None if there is none."""
    seconds = http.parse_retry_after(headers.get("retry-after", ""), now=datetime.now(UTC))
    return None if seconds is None else min(max(1, ceil(seconds)), MAX_RETRY_AFTER)


def build_busy_error() -> UpstreamBusyError:
    """Return the error for a connection with as many calls as it may have at a time."""
    return UpstreamBusyError(
        "The service has reached its limit of concurrent calls. Nothing was sent. Send the same call again.",
        headers={"Retry-After": "1"},
    )


def build_circuit_open_error(seconds: int) -> UpstreamBusyError:
    """Return the error for a connection that gets no calls for a while, because too many have failed."""
    return UpstreamBusyError(
        f"The service has failed too often; nothing was sent. Send the same call again in {seconds} seconds.",
        reason="upstream_circuit_open",
        headers={"Retry-After": str(seconds)},
    )


def build_refused_for_now_error(
    *, is_rate_limit: bool, retry_after: int | None, details: Mapping[str, Any]
) -> UpstreamBusyError:
    """Return the error for an answer with status 429 or 503. Neither applies a call."""
    problem = "accepts no more calls now" if is_rate_limit else "is not available now"
    when = f"in {retry_after} seconds" if retry_after else "later"
    return UpstreamBusyError(
        f"The service {problem}; nothing was done. Send the same call again {when}.",
        reason="upstream_rate_limited" if is_rate_limit else "upstream_unavailable",
        details=details,
        headers={"Retry-After": str(retry_after)} if retry_after else None,
    )


def convert_outgoing_error(error: http.OutgoingError) -> GatewayError:
    """Return the API error for an outgoing call that failed."""
    return API_ERRORS[type(error)](str(error))


def build_status_error(status: int, message: str) -> GatewayError:
    """Return the API error for a response with an error status."""
    return InternalError(message, status=502, reason="upstream_status", retryable=status in _TEMPORARY_STATUSES)


def convert_transport_error(error: http.OutgoingError, *, is_write: bool) -> GatewayError:
    """Return the API error. A write that may have arrived has an unknown outcome."""
    if is_write and error.was_sent:
        return build_outcome_unknown_error()
    if type(error) in _CONFIGURATION_ERRORS:
        reason, problem = _CONFIGURATION_ERRORS[type(error)]
        message = f"{problem} Nothing was done; tell the administrator."
        error_class = UpstreamUnreachableError if is_write else InternalError
        return error_class(message, status=502, reason=reason, retryable=False)
    if is_write:
        return UpstreamUnreachableError("The service cannot be reached; nothing was done. Send the same call again.")
    return convert_outgoing_error(error)
