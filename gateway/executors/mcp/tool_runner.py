"""Run a tool within the limits of its connection, and retry it once if that cannot apply anything twice."""

from collections.abc import Callable
from dataclasses import replace

from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from core import tracing
from core.database.connections import return_connection
from core.http.async_client import AsyncCall
from core.server.thread_pool import lend_thread
from gateway.contracts.errors import GatewayError
from gateway.contracts.user_questions import GivenAnswers, InputRequired, UserQuestion
from gateway.credentials import end_user_settings
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.executors.mcp import call_errors, definition_check, running_calls, tool_result, waiting_calls
from gateway.executors.mcp.prepared_tool import PreparedTool
from gateway.executors.mcp.running_calls import RunningCall
from gateway.executors.mcp.tool_call import McpToolCall
from gateway.executors.mcp.waiting_calls import CallEnded
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
            credentials.forget(prepared.config, work)
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
        call = running.call if running else _answer_elsewhere(work, prepared)
        if running:
            running.wait(work.deadline, work.watcher, prepared.redactor)
        attempt.failed = call.is_failure
        if running and call.is_waiting:
            questions = {name: _redact(question, prepared) for name, question in call.questions.items()}
            raise InputRequired(questions, waiting_call=waiting_calls.keep(running))
        if call.is_late or call.result is None:
            span.fail("timeout" if call.is_late else type(call.error).__name__)
        elif call.result.is_error:
            span.fail("tool_error")
    if call.is_changed:
        definition_check.check_soon(config.name)
    return call


def _start_or_continue(work: UpstreamCall, prepared: PreparedTool) -> RunningCall | None:
    """Start a call, or answer the one that waits for its user in this process; None if it waits in another one."""
    answers = work.answers
    if answers is not None and answers.waiting_call:
        running = waiting_calls.take(answers.waiting_call)
        if running is not None:
            running.answer(answers.answers)
        return running
    is_shared = prepared.config.has_shared_sessions and not end_user_settings.uses_own_keys(prepared.config)
    owner = None if is_shared else work.client_subject
    return running_calls.start_call(_build_call(prepared, answers), prepared.config, owner)


def _answer_elsewhere(work: UpstreamCall, prepared: PreparedTool) -> McpToolCall:
    """Answer a call that waits in another process, and return how it ended there.

    Raises InputRequired if it asks something else, GatewayError if it has ended.
    """
    call, answers = _build_call(prepared, None), work.answers
    call.was_opened = call.was_called = call.exchange.is_sent = True
    try:
        outcome = waiting_calls.relay_answers(answers.waiting_call, answers.answers, work.deadline)  # type: ignore[union-attr]  # only calls with answers wait
    except CallEnded:
        raise call_errors.build_ended_error(is_write=prepared.is_write) from None
    except TimeoutError:
        call.is_late = True
        return call
    if "questions" in outcome:
        questions = {name: UserQuestion(**each) for name, each in outcome["questions"].items()}
        raise InputRequired(questions, waiting_call=outcome["waiting_call"])
    call.is_late, call.is_changed = outcome["is_late"], outcome["is_changed"]
    call.progress, call.unsupported = outcome["progress"], outcome["unsupported"]
    if "result" in outcome:
        call.result = CallToolResult.model_validate(outcome["result"])
    elif "error" in outcome:
        call.error = MCPError(*outcome["error"])
    return call


def _build_call(prepared: PreparedTool, answers: GivenAnswers | None) -> McpToolCall:
    exchange = AsyncCall(headers=prepared.headers, max_bytes=prepared.config.max_response_kb * 1000)
    return McpToolCall(prepared.tool, prepared.arguments, exchange, given=answers)
