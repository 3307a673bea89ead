"""Errors of calls that an upstream denies: the gateway's own credentials, or what the end user may do."""

from typing import Any

from gateway.contracts.errors import GatewayError, InternalError, PermissionDeniedError
from registry.catalog.connections import ConnectionConfig
from registry.models import Connection

SAID = "details.upstream has what it said."
USERS_OWN_CREDENTIALS = frozenset({Connection.Auth.NONE, Connection.Auth.USER_OAUTH})


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
