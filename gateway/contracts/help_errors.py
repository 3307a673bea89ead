"""Errors of help and discovery as API errors."""

from gateway.contracts.errors import FieldError, GatewayError, InvalidRequestError, NotFoundError
from registry.help.answers import BadHelpQuery, UnknownArgument, UnknownPath


def to_api_error(error: UnknownPath | BadHelpQuery, *, reason: str) -> GatewayError:
    """Return the API error for a help request without an answer. `reason` is used if the path is unknown."""
    if isinstance(error, UnknownPath):
        details = {"did_you_mean": error.did_you_mean} if error.did_you_mean else None
        reason = "unknown_argument" if isinstance(error, UnknownArgument) else reason
        return NotFoundError(str(error), reason=reason, help_path=error.help_path, details=details)
    problem = FieldError(f"/{error.field}", "invalid", str(error))
    return InvalidRequestError(str(error), reason="malformed_call", field_errors=[problem])
