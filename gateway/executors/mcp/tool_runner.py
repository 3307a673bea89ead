"""Run a tool within the limits of its connection, and retry it once if that cannot apply anything twice."""

from collections.abc import Callable
from dataclasses import replace

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from core import tracing
from core.database.connections import return_connection
from core.database.deadlines import DeadlineExceeded
from core.http.async_client import AsyncCall
from core.server.thread_pool import lend_thread
from gateway.contracts.errors import GatewayError
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.mcp import call_errors, definition_check, session_pool, tool_call, tool_result
from gateway.executors.mcp.prepared_tool import PreparedTool
from gateway.executors.mcp.tool_call import McpToolCall
from gateway.executors.remote import connection_guards, credentials
from gateway.executors.remote.result_values import build_unread_response


def run_tool(work: UpstreamCall, prepared: PreparedTool, *, authorize: Callable[[], PreparedTool]) -> UpstreamResponse:
    """Return the answer of the tool. `authorize` adds new credentials if the server does not accept these.

    Raises the errors that executors raise.
    """
    result, progress = _call(work, prepared, authorize)
    if result.is_error:
        said = prepared.redactor.redact_text(tool_result.read_text(result))
        raise _add_progress(call_errors.build_tool_error(said), progress)
    try:
        read = tool_result.read_result(result, work, prepared.redactor)
        return UpstreamResponse(read.result, warnings=read.remarks, progress=progress)
    except GatewayError as error:
        if not prepared.is_write:
            raise
        return replace(build_unread_response(error), progress=progress)


def _call(
    work: UpstreamCall, prepared: PreparedTool, authorize: Callable[[], PreparedTool]
) -> tuple[CallToolResult, dict[str, float] | None]:
    """Call the tool. A call that reached no tool, or a read whose session was lost, is sent again once."""
    call = _send(work, prepared)
    if call.result is None and call.may_repeat(is_write=prepared.is_write):
        if call.exchange.status == 401:
            credentials.forget(prepared.config, work.subject)
            prepared = authorize()
        call = _send(work, prepared)
    if call.result is not None:
        return call.result, call.progress
    if isinstance(call.error, MCPError):
        call.error = MCPError(call.error.code, prepared.redactor.redact_text(call.error.message))
    error = call_errors.to_api_error(call, prepared.config, is_write=prepared.is_write)
    raise _add_progress(error, call.progress)


def _add_progress(error: GatewayError, progress: dict[str, float] | None) -> GatewayError:
    if progress:
        error.details["progress"] = progress
    return error


def _send(work: UpstreamCall, prepared: PreparedTool) -> McpToolCall:
    """Make one attempt, and tell the circuit breaker whether the server failed."""
    config = prepared.config
    exchange = AsyncCall(headers=prepared.headers, max_bytes=config.max_response_kb * 1000)
    caller = work.client_subject
    call = McpToolCall(prepared.tool, prepared.arguments, exchange)
    attributes = {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": prepared.tool,
        "gateway.connection": config.name,
    }
    with (
        tracing.start_span(f"tools/call {prepared.tool}", "client", attributes) as span,
        tracing.lend_to_libraries(),
        lend_thread(),
        return_connection(),
        connection_guards.guard_call(config, caller, work.deadline) as attempt,
    ):
        try:
            owner = None if config.has_shared_sessions else caller
            seconds = work.deadline.get_remaining_ms() / 1000
            session_pool.run_on_loop(tool_call.run(call, config, owner), seconds=seconds)
        except (TimeoutError, DeadlineExceeded):
            call.is_late = True
        attempt.failed = call.is_failure
        if call.is_late or call.result is None:
            span.fail("timeout" if call.is_late else type(call.error).__name__)
        elif call.result.is_error:
            span.fail("tool_error")
    if call.is_changed:
        definition_check.check_soon(config.name)
    return call
