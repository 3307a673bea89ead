"""Credentials of connections."""

from gateway.executors.base import UpstreamCall
from gateway.executors.http.built_request import BuiltRequest
from registry.catalog.connections import ConnectionConfig


def apply_credentials(
    request: BuiltRequest,
    work: UpstreamCall,  # noqa: ARG001 - whom the call is for
    config: ConnectionConfig,  # noqa: ARG001
) -> BuiltRequest:
    """Return the request with the credentials of the connection."""
    return request


def forget(config: ConnectionConfig) -> None:
    """Forget tokens that the upstream no longer accepts."""
