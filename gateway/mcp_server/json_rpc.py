"""Errors of the gateway in JSON-RPC 2.0, for what is refused before the SDK reads it."""

from typing import Any

from gateway.contracts.errors import ErrorCode, GatewayError

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603
CODES = {
    ErrorCode.VALIDATION_ERROR: INVALID_REQUEST,
    ErrorCode.PERMISSION_DENIED: INVALID_REQUEST,
    ErrorCode.NOT_FOUND: INVALID_PARAMS,
    ErrorCode.CONFLICT: INVALID_REQUEST,
    ErrorCode.INTERNAL: INTERNAL_ERROR,
}
JSON_REASONS = frozenset({"invalid_json", "invalid_utf8"})


def get_code(error: GatewayError) -> int:
    """Return the code for an error of the gateway."""
    return PARSE_ERROR if error.reason in JSON_REASONS else CODES[ErrorCode(error.code)]


def build_error_body(error: GatewayError) -> dict[str, Any]:
    """Return the body of an answer to a message whose id is not known."""
    return {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": get_code(error), "message": str(error), "data": error.as_dict()},
    }
