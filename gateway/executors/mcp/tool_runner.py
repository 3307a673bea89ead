"""Run a tool within the limits of its connection, and retry it once if that cannot apply anything twice."""

from collections.abc import Callable
from dataclasses import replace

from mcp.shared.exceptions import MCPError

from core import tracing
from core.database.connections import return_connection
from core.http.async_client import AsyncCall
from core.server.thread_pool import lend_thread
from gateway.contracts.errors import GatewayError
from gateway.contracts.user_questions import InputRequired, UserQuestion
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.mcp import call_errors, definition_check, running_calls, tool_result
from gateway.executors.mcp.prepared_tool import PreparedTool
from gateway.executors.mcp.running_calls import RunningCall
from gateway.executors.mcp.tool_call import McpToolCall
from gateway.executors.remote import connection_guards, credentials
from gateway.executors.remote.result_values import build_unread_response

DECLINED = (
    "The service asked its user a question while the call ran, and the gateway declined it: over HTTP, it passes on "
    "questions of services with MCP 2026-07-28 only."
)


def run_tool(work: UpstreamCall, prepared: PreparedTool, *, authorize: Callable[[], PreparedTool]) -> UpstreamResponse:
    """Return the answer of the tool. `authorize` adds new credentials if the server does not accept these.

    Raises the errors that executors raise.
    """
    call = _call(work, prepared, authorize)
    result, progress = call.result, call.progress
    warnings = (DECLINED,) if call.was_declined else ()
    if result is None:
        raise _build_error(call, prepared)
    if result.is_error:
        said = prepared.redactor.redact_text(tool_result.read_text(result))
        raise _add_progress(call_errors.build_tool_error(said, was_declined=call.was_declined), progress)
    try:
        read = tool_result.read_result(result, work, prepared.redactor)
        return UpstreamResponse(read.result, warnings=(*warnings, *read.remarks), progress=progress)
    except GatewayError as error:
        if not prepared.is_write:
            raise
        return replace(build_unread_response(error), progress=progress)


def _call(work: UpstreamCall, prepared: PreparedTool, authorize: Callable[[], PreparedTool]) -> McpToolCall:
    """Call the tool. A call that reached no tool, or a read whose session was lost, is sent again once."""
    call = _send(work, prepared)
    if call.result is None and call.may_repeat(is_write=prepared.is_write) and not _is_waiting_call(work):
        if call.exchange.status == 401:
            credentials.forget(prepared.config, work.subject)
            prepared = authorize()
        call = _send(work, prepared)
    return call


def _build_error(call: McpToolCall, prepared: PreparedTool) -> GatewayError:
    """Return the error for a call without a result. Raises InputRequired if the server asks its user first."""
    if call.questions and not call.unsupported:
        raise InputRequired(
            {name: _redact(question, prepared) for name, question in call.questions.items()}, state=call.state
        )
    if isinstance(call.error, MCPError):
        call.error = MCPError(call.error.code, prepared.redactor.redact_text(call.error.message))
    error = call_errors.to_api_error(call, prepared.config, is_write=prepared.is_write)
    return _add_progress(error, call.progress)


def _redact(question: UserQuestion, prepared: PreparedTool) -> UserQuestion:
    redactor = prepared.redactor
    schema = redactor.redact_value(question.schema) if question.schema is not None else None
    return UserQuestion(redactor.redact_text(question.message), schema, redactor.redact_text(question.url))


def _add_progress(error: GatewayError, progress: dict[str, float] | None) -> GatewayError:
    if progress:
        error.details["progress"] = progress
    return error


def _is_waiting_call(work: UpstreamCall) -> bool:
    return bool(work.answers and work.answers.waiting_call)


def _send(work: UpstreamCall, prepared: PreparedTool) -> McpToolCall:
    """Make one attempt, and tell the circuit breaker whether the server failed.

    Raises InputRequired for a call that waits for its user while it runs.
    """
    config = prepared.config
    caller = work.client_subject
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
        running = _start_or_continue(work, prepared)
        call = running.call
        running.wait(work.deadline, work.watcher, prepared.redactor)
        attempt.failed = call.is_failure
        if call.is_waiting:
            questions = {name: _redact(question, prepared) for name, question in call.questions.items()}
            raise InputRequired(questions, waiting_call=running_calls.keep_waiting(running))
        if call.is_late or call.result is None:
            span.fail("timeout" if call.is_late else type(call.error).__name__)
        elif call.result.is_error:
            span.fail("tool_error")
    if call.is_changed:
        definition_check.check_soon(config.name)
    return call


def _start_or_continue(work: UpstreamCall, prepared: PreparedTool) -> RunningCall:
    """Start a call, or answer the one that waits for its user. Raises GatewayError if that one has ended."""
    answers = work.answers
    if answers is not None and answers.waiting_call:
        running = running_calls.take_waiting(answers.waiting_call)
        if running is None:
            raise call_errors.build_ended_error(is_write=prepared.is_write)
        running.answer(next(iter(answers.answers.values())))
        return running
    exchange = AsyncCall(headers=prepared.headers, max_bytes=prepared.config.max_response_kb * 1000)
    call = McpToolCall(prepared.tool, prepared.arguments, exchange, given=answers)
    return running_calls.start_call(
        call, prepared.config, None if prepared.config.has_shared_sessions else work.client_subject
    )
