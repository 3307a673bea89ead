"""Errors of the gateway as errors of JSON-RPC. What a tool answers is never one: a model reads its envelope."""

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR

from gateway.api import exception_mapping
from gateway.contracts.errors import ErrorCode, GatewayError

METHODS = ("POST",)  # of HTTP, at /mcp
CODES = {
    ErrorCode.VALIDATION_ERROR: INVALID_REQUEST,
    ErrorCode.PERMISSION_DENIED: INVALID_REQUEST,
    ErrorCode.NOT_FOUND: INVALID_PARAMS,
    ErrorCode.CONFLICT: INVALID_REQUEST,
    ErrorCode.INTERNAL: INTERNAL_ERROR,
}
JSON_REASONS = frozenset({"invalid_json", "invalid_utf8"})


def to_mcp_error(error: Exception, *, trace_id: str) -> MCPError:
    """Return the protocol error for an exception. Its data is what an envelope has as `error`."""
    api_error = exception_mapping.to_api_error(error, allowed_methods=METHODS, trace_id=trace_id)
    return MCPError(get_code(api_error), str(api_error), data=api_error.as_dict())


def build_unknown_error(kind: str, name: str, close_names: list[str]) -> MCPError:
    """Return the error for a name that the server does not know, with close ones."""
    hint = f" Did you mean {', '.join(close_names)}?" if close_names else f" List the {kind}s."
    data = {"name": name[:200], "did_you_mean": close_names}
    return MCPError(INVALID_PARAMS, f"There is no such {kind}.{hint}", data=data)


def build_error_body(error: GatewayError) -> dict[str, Any]:
    """Return the body of an answer to a message that is refused before it is read."""
    return {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": get_code(error), "message": str(error), "data": error.as_dict()},
    }


def get_code(error: GatewayError) -> int:
    """Return the code of JSON-RPC for an error of the gateway."""
    return PARSE_ERROR if error.reason in JSON_REASONS else CODES[ErrorCode(error.code)]
