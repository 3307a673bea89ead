"""Errors of the gateway as errors of JSON-RPC. What a tool answers is never one: a model reads its envelope."""

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from gateway.api import base
from gateway.mcp_server.json_rpc import get_code

METHODS = ("POST",)  # of HTTP, at /mcp


def to_mcp_error(error: Exception, *, trace_id: str) -> MCPError:
    """Return the protocol error for an exception. Its data is what an envelope has as `error`."""
    api_error = base.to_api_error(error, allowed_methods=METHODS, trace_id=trace_id)
    return MCPError(get_code(api_error), str(api_error), data=api_error.as_dict())


def build_unknown_error(kind: str, name: str, close_names: list[str], *, field: str = "name") -> MCPError:
    """Return the error for a name that the server does not know, with close ones. `field` of its data has the name."""
    hint = f" Did you mean {', '.join(close_names)}?" if close_names else f" List the {kind}s."
    data = {field: name[:200], "did_you_mean": close_names}
    return MCPError(INVALID_PARAMS, f"There is no such {kind}.{hint}", data=data)
