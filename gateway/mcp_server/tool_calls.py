"""Run the tool of a call: the same code as the endpoints of the HTTP API, so both give the same answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp.shared.exceptions import MCPError

from analytics.events.models import OperationEvent
from core import metrics
from core.metrics import CallLabels
from core.text import english, json_text
from gateway.access import policies, surface_names
from gateway.api import base
from gateway.batches import input_answers
from gateway.batches import service as batches
from gateway.contracts import envelopes, tool_definitions, user_questions
from gateway.contracts.envelopes import EnvelopeResponse
from gateway.contracts.errors import GatewayError, PermissionDeniedError
from gateway.contracts.user_questions import GivenAnswers, UserAnswer, UserQuestion
from gateway.execution import pipeline
from gateway.help import service
from gateway.help import service as help_service
from gateway.mcp_server import tool_list
from gateway.mcp_server.caller_source import McpCall
from gateway.mcp_server.errors import METHODS, build_unknown_error
from gateway.models import Scope
from gateway.recording import call_events
from gateway.recording.call_events import record_failed_call
from registry.help.discovery_pages import DISCOVER_AGENTS, OTHER_DOMAIN

HELP, EXEC, BATCH = (tool["name"] for tool in tool_definitions.GATEWAY_TOOLS)

Arguments = dict[str, Any]
Type = OperationEvent.Type


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answers: the body of the HTTP API. `is_error`: nothing in it succeeded."""

    body: Mapping[str, Any]
    labels: CallLabels | None = None  # None if the call is counted elsewhere
    is_error: bool = False
    hint: str = ""  # for a model that goes in circles
    questions: Mapping[str, UserQuestion] = field(default_factory=dict)  # of the service to the end user

    @property
    def confirmation(self) -> dict[str, Any] | None:
        """What the end user must agree to first, with the token; None if nothing."""
        details = self.body["error"]["details"] if self.is_error else {}
        return details.get("confirmation") if details.get("reason") == "confirmation_required" else None

    @property
    def question_token(self) -> str:
        """The token of what a service asks the end user first; empty if nothing."""
        details = self.body["error"]["details"] if self.is_error else {}
        return str(details.get("token", "")) if details.get("reason") == user_questions.REASON else ""


def call_tool(
    call: McpCall,
    name: str,
    arguments: Arguments,
    *,
    confirmation: str = "",
    answers: Mapping[str, UserAnswer] | None = None,
    token: str = "",
) -> ToolAnswer:
    """Run a tool by name and return its answer, also of a failure.

    `confirmation` is the token that the user agreed to. `answers` are those to a service's questions, and `token` is
    that of the questions; without one they go to the service with a new call. Raises MCPError if there is no such tool,
    InvalidRequestError for answers that do not fit, ConflictError for a token that is not valid.
    """
    if confirmation:
        call = replace(call, caller=replace(call.caller, confirmation=confirmation))
    if token:
        return _go_on(call, name, arguments, token, answers or {})
    if answers:
        call = replace(call, answers=answers)
    try:
        answer = _find_tool(call, name)(call, arguments)
    except MCPError:
        raise
    except Exception as error:
        answer = answer_failure(call, name, arguments, error)
    return _count(call, answer)


def _go_on(call: McpCall, name: str, arguments: Arguments, token: str, answers: Mapping[str, UserAnswer]) -> ToolAnswer:
    """Go on with a call that asked its user. Raises GatewayError before anything has happened."""
    body = arguments if name == EXEC else {"op": name, "args": arguments}
    response = input_answers.answer_all(
        token, answers, call=body, caller=call.caller, trace=call.trace, watcher=call.watcher
    )
    return _count(call, _to_answer(call, response))


def ask_again(call: McpCall, name: str, arguments: Arguments, error: GatewayError, token: str) -> ToolAnswer:
    """Return the answer for a user whose last answer did not fit: the same questions, which say what was wrong."""
    questions = input_answers.load_questions(token, call.caller, call.trace)
    for at, question in questions.items():
        if question.schema is not None:
            problems = " ".join(each.message for each in error.field_errors)
            questions[at] = replace(question, message=f"{problems} {question.message}")
            break
    refused = answer_failure(call, name, arguments, error)
    details = {**refused.body["error"]["details"], "reason": user_questions.REASON, "token": token}
    body = {**refused.body, "error": {**refused.body["error"], "details": details}}
    return replace(refused, body=body, questions=questions)


def _count(call: McpCall, answer: ToolAnswer) -> ToolAnswer:
    if answer.labels is not None:
        metrics.count_call(answer.labels, seconds=call.trace.elapsed_ms() / 1000)
    return replace(answer, hint=call.trace.hint) if call.trace.hint else answer


def refuse_call(call: McpCall, name: str, arguments: Arguments, error: GatewayError) -> ToolAnswer:
    """Return the answer to a call of an op that did not start, and record its event."""
    name = _describe_call(name, arguments)[1]
    response = pipeline.reject_call(error, name=name, caller=call.caller, trace=call.trace, catalog=call.load_catalog())
    return ToolAnswer(response.envelope, call_events.build_exec_labels(response), is_error=True)


def answer_failure(call: McpCall, name: str, arguments: Arguments, error: Exception) -> ToolAnswer:
    """Return the answer to a call that failed before an op was known, and record its event."""
    api_error = base.to_api_error(error, allowed_methods=METHODS, trace_id=call.trace.id)
    if name == BATCH:  # its entries have events, it has none
        return ToolAnswer(envelopes.build_failure(None, api_error, envelopes.build_meta(call.trace)), is_error=True)
    event_type, path = _describe_call(name, arguments)
    envelope, labels = record_failed_call(event_type, api_error, caller=call.caller, trace=call.trace, name=path)
    return ToolAnswer(surface_names.name_ops_in_failure(envelope, call.caller, call.trace), labels, is_error=True)


def _find_tool(call: McpCall, name: str) -> Callable[[McpCall, Arguments], ToolAnswer]:
    """Return what runs a tool. An op's own tool runs on every surface: a client may have an older list."""
    catalog = call.load_catalog()
    if name in _GATEWAY_TOOLS:
        return _GATEWAY_TOOLS[name]
    if name in catalog.domains or name in (DISCOVER_AGENTS, OTHER_DOMAIN.name):
        return lambda call, arguments: _run_discover(call, name, arguments)
    if (op := catalog.find_op(name)) is not None and op.tool_name == name:
        return lambda call, arguments: _run_exec(call, {"op": name, "args": arguments})
    names = [tool.name for tool in tool_list.choose_tools(call, catalog)]
    raise build_unknown_error("tool", name, english.find_similar(name, names))


def _run_help(call: McpCall, arguments: Arguments) -> ToolAnswer:
    require_scope(call, Scope.HELP)
    answer = help_service.answer_help(body=arguments, caller=call.caller, trace=call.trace)
    labels = call_events.build_metric_labels(help_service.get_event_type(arguments), op_kind=answer.op_kind)
    return ToolAnswer(json_text.load(answer.body), labels)


def _run_discover(call: McpCall, name: str, arguments: Arguments) -> ToolAnswer:
    require_scope(call, Scope.HELP)
    answer = service.answer_discovery(name=name, body=arguments, caller=call.caller, trace=call.trace)
    return ToolAnswer(
        json_text.load(answer.body), call_events.build_metric_labels(Type.DISCOVER, op_kind=answer.op_kind)
    )


def _run_exec(call: McpCall, arguments: Arguments) -> ToolAnswer:
    answers = GivenAnswers(call.answers) if call.answers else None
    return _to_answer(
        call,
        pipeline.execute(body=arguments, caller=call.caller, trace=call.trace, answers=answers, watcher=call.watcher),
    )


def _to_answer(call: McpCall, response: EnvelopeResponse) -> ToolAnswer:
    is_error = not response.envelope["ok"]
    answer = ToolAnswer(response.envelope, call_events.build_exec_labels(response), is_error=is_error)
    if answer.question_token:
        questions = input_answers.load_questions(answer.question_token, call.caller, call.trace)
        return replace(answer, questions=questions)
    return answer


def _run_batch(call: McpCall, arguments: Arguments) -> ToolAnswer:
    require_scope(call, Scope.BATCH)
    body = batches.submit(arguments, call.caller, call.trace, in_background=False)
    return ToolAnswer(body)


def require_scope(call: McpCall, scope: Scope) -> None:
    """Raise PermissionDeniedError if the caller's key lacks a scope. The view of an endpoint checks its own."""
    decision = policies.has_scope(call.caller, scope)
    if not decision.allowed:
        raise PermissionDeniedError(decision.message, reason=decision.reason)


_GATEWAY_TOOLS: dict[str, Callable[[McpCall, Arguments], ToolAnswer]] = {
    HELP: _run_help,
    EXEC: _run_exec,
    BATCH: _run_batch,
}


def _describe_call(name: str, arguments: Arguments) -> tuple[Type, str]:
    """Return the event type of a failed call and what it asked for."""
    if name == HELP:
        path = arguments.get("path")
        return help_service.get_event_type(arguments), path if isinstance(path, str) else ""
    if name == EXEC:
        op = arguments.get("op")
        return Type.EXEC, op if isinstance(op, str) else ""
    return Type.DISCOVER, name
