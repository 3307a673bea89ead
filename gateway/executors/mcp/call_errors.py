"""Calls of tools without a result, as errors of the API.

What the server said is in details.upstream, cleaned, as data. Our own message never repeats it: a model would take it
for ours.
"""

from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from core.http.errors import OutgoingError, Unreachable
from gateway.contracts.errors import (
    ConflictError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    UpstreamUnreachableError,
    build_outcome_unknown_error,
)
from gateway.executors.mcp.definition_check import UnknownProgram
from gateway.executors.mcp.sessions.session_pool import TooManySessions
from gateway.executors.mcp.tool_call import BROKEN_RESULT, McpToolCall
from gateway.executors.remote import errors
from gateway.executors.remote.errors import (
    SAID,
    build_busy_error,
    build_denied_error,
    build_refused_for_now_error,
    read_retry_seconds,
)
from registry.catalog.connections import ConnectionConfig
from registry.text import cleanup

MAX_SAID = 1_000  # characters of what a server said
_SDK_CODES = frozenset({CONNECTION_CLOSED, REQUEST_TIMEOUT})  # no server sends these
NOTHING_DONE = "Nothing was done; tell the administrator."


def build_tool_error(said: str, *, was_declined: bool = False) -> InvalidRequestError:
    """Return the error for a tool that answered with an error, perhaps because a question of its was declined."""
    remark = " A question of the tool to its user was declined." if was_declined else ""
    return InvalidRequestError(
        f"The tool refused the call. Correct the args if they are wrong; {SAID}{remark}",
        reason="upstream_refused",
        details=_describe(said),
    )


def to_api_error(call: McpToolCall, config: ConnectionConfig, *, is_write: bool) -> GatewayError:
    """Return the error for a call without a result. A write that may have arrived has an unknown outcome."""
    if call.is_changed:
        return InternalError(
            f"The tool's definition changed at its server, and the change is not approved. {NOTHING_DONE}",
            status=503,
            reason="upstream_changed",
        )
    if call.unsupported:
        return InternalError(
            f"The gateway cannot pass on what the tool wants of its user: it {call.unsupported}. {NOTHING_DONE}",
            status=502,
            reason="upstream_needs_input",
        )
    if call.is_cancelled:
        if is_write and call.was_sent:
            return build_outcome_unknown_error()
        return ConflictError("The call was cancelled. The service was told to stop.", reason="cancelled")
    if isinstance(call.error, UnknownProgram):
        return InternalError(
            f"The program of this connection is not one of GATEWAY_MCP_COMMANDS. {NOTHING_DONE}",
            status=503,
            reason="not_configured",
        )
    if isinstance(call.error, TooManySessions):
        return build_busy_error()
    if call.exchange.status in (401, 403, 429, 503):
        return _build_status_error(call, config, is_write=is_write)
    if call.is_callers and isinstance(call.error, MCPError):
        return _build_callers_error(call.error)
    said = _read_error(call)
    is_unknown = is_write and call.was_sent
    error = build_outcome_unknown_error() if is_unknown else _build_failure(call, said, is_write=is_write)
    error.details |= _describe(said)
    return error


def build_ended_error(*, is_write: bool) -> GatewayError:
    """Return the error for an answer to a call that no longer waits for it, because its program has ended."""
    if is_write:
        return build_outcome_unknown_error()
    return InternalError(
        "The service no longer waits for this answer. Send the call again.",
        status=503,
        reason="upstream_unavailable",
        retryable=True,
    )


def _build_callers_error(error: MCPError) -> GatewayError:
    details = _describe(error.message)
    if error.code == mcp_types.METHOD_NOT_FOUND:
        return NotFoundError(
            f"The server does not have this tool. {SAID}", reason="upstream_not_found", details=details
        )
    return InvalidRequestError(
        f"The server refused the args. Correct them; {SAID}", reason="upstream_invalid", details=details
    )


def _build_status_error(call: McpToolCall, config: ConnectionConfig, *, is_write: bool) -> GatewayError:
    status = call.exchange.status
    if status in (429, 503) and not (is_write and status == 503 and call.was_sent):
        retry_after = read_retry_seconds(call.exchange.answer_headers)
        return build_refused_for_now_error(is_rate_limit=status == 429, retry_after=retry_after, details={})
    if status == 503:
        return build_outcome_unknown_error()
    return build_denied_error(status, config, {})


def _read_error(call: McpToolCall) -> str:
    """Return what the server said in an error of the protocol; "" if the error is ours or the SDK's."""
    error = call.error
    if not isinstance(error, MCPError) or not call.was_called or call.exchange.status >= 400:
        return ""
    return "" if error.code in _SDK_CODES or error.message == BROKEN_RESULT else error.message


def _build_failure(call: McpToolCall, said: str, *, is_write: bool) -> GatewayError:
    if call.exchange.error is not None:
        error: OutgoingError = call.exchange.error
        error.was_sent = call.was_sent
        return errors.convert_transport_error(error, is_write=is_write)
    if call.is_late:
        message = "The server did not answer in time."
        if is_write:
            return UpstreamUnreachableError(f"{message} Nothing was done. Send the same call again.")
        return InternalError(message, status=504, reason="upstream_timeout", retryable=True)
    if isinstance(call.error, OSError):
        return errors.convert_transport_error(Unreachable(), is_write=is_write)
    message = f"The server cannot be used: its answers do not follow MCP. {NOTHING_DONE}"
    if said:
        message = f"The server answered with an error; {SAID}"
    error_class = UpstreamUnreachableError if is_write else InternalError
    return error_class(message, status=502, reason="upstream_broken", retryable=False)


def _describe(said: str) -> dict[str, Any]:
    text = cleanup.strip_hidden_characters(said).strip()[:MAX_SAID]
    return {"upstream": {"message": text}} if text else {}
