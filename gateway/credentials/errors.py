"""Errors of credentials. None of them quotes a secret or what a token endpoint answered."""

from gateway.contracts.errors import InternalError, UpstreamUnreachableError
from registry.catalog.connections import ConnectionConfig


def build_not_configured_error(config: ConnectionConfig, why: str) -> InternalError:
    """Return the error for a connection that an administrator has to configure. `why` is a clause."""
    return InternalError(
        f"The connection {config.name} cannot be used: {why}. Nothing was done; tell the administrator.",
        status=503,
        reason="not_configured",
    )


def build_token_unavailable_error(config: ConnectionConfig, why: str) -> UpstreamUnreachableError:
    """Return the error for a token that cannot be fetched now. `why` is a sentence."""
    return UpstreamUnreachableError(f"No token for the connection {config.name}: {why} Nothing was done; try again.")
