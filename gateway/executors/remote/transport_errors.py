"""Errors of calls that got no answer from an upstream."""

from core import http
from gateway.contracts.errors import (
    GatewayError,
    InternalError,
    UpstreamUnreachableError,
    build_outcome_unknown_error,
)
from gateway.executors import upstream_errors

# The caller chose neither the URL nor the headers: these are mistakes in the connection.
_CONFIGURATION_ERRORS: dict[type[http.OutgoingError], tuple[str, str]] = {
    http.BadUrl: ("bad_url", "The service's URL cannot be called."),
    http.BadRequest: ("bad_outgoing_request", "The request to the service cannot be sent."),
    http.AddressRefused: ("address_refused", "The service's address is unknown, or it may not be called."),
    http.Untrusted: ("upstream_untrusted", "The service cannot be trusted: its certificate is not valid."),
}


def to_api_error(error: http.OutgoingError, *, is_write: bool) -> GatewayError:
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
    return upstream_errors.to_api_error(error)
