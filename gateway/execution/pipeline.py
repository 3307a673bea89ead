"""exec: from a body to an envelope.

The steps in order: find the op, parse the body, replay a stored answer, check permission and switches, validate the
args, ask for confirmation, run. Each step takes a stage of the call and returns the next one, or raises; the answer to
an error is built from the stage that was reached.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any

from django.db import InterfaceError, OperationalError, connection, transaction

from analytics.events import event_log
from core import logs
from core.database.connections import prepare_statements
from core.database.deadlines import Deadline, DeadlineExceeded
from core.database.watch import is_schema_missing
from gateway.access import pending_inputs, release_routing, surface_names
from gateway.access.pending_inputs import PendingCall
from gateway.access.request_context import Caller
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import (
    EXPECTED_REASONS,
    GatewayError,
    InternalError,
    PermissionDeniedError,
    build_not_migrated_error,
)
from gateway.contracts.user_questions import GivenAnswers, InputRequired
from gateway.data_flow import checks as data_flow
from gateway.data_flow.policy import FlowDecision
from gateway.execution import (
    answer,
    confirmation,
    db_errors,
    idempotency,
    local_write,
    operations,
    parse,
    remote_write,
    result_shape,
)
from gateway.execution.result_shape import ShapedResponse
from gateway.execution.stages import Outcome, ParsedCall, Stage, Superseded, ValidCall
from gateway.executors import executor_for
from gateway.executors.base import CallWatcher, UpstreamResponse
from gateway.models import Scope
from gateway.recording import spans
from registry.catalog.model import Catalog
from registry.help.op_names import replace_paths

log = logging.getLogger(__name__)


def execute(
    *,
    body: dict[str, Any],
    caller: Caller,
    trace: Trace,
    catalog: Catalog | None = None,
    until: Deadline | None = None,
    key: str | None = None,
    store_response: Callable[[EnvelopeResponse], None] | None = None,
    answers: GivenAnswers | None = None,
    goes_on: bool = False,
    watcher: CallWatcher | None = None,
    batch_entry: int | None = None,
) -> EnvelopeResponse:
    """Run one op and return its response. Raises cache.NoLiveRelease; every other failure becomes a response.

    A batch entry passes the catalog of its release, a deadline in addition to that of its op, the idempotency key to
    use if neither body nor header has one, and `store_response`, which for a write runs in the same transaction. If
    it raises Superseded, the write is rolled back and the exception propagates. `answers` are those of the user to
    what the upstream asks; `goes_on` if it asked them in an earlier call, which this one goes on with.
    """
    call = ParsedCall(
        caller=caller,
        trace=trace,
        catalog=catalog or release_routing.get_catalog(caller.routing),
        body=body,
        until=until,
        key=key,
        store_response=store_response,
        answers=answers,
        goes_on=goes_on,
        watcher=watcher,
        batch_entry=batch_entry,
    )
    logs.release.set(call.catalog.version)
    trace.release, trace.data_flow = call.catalog.version, ""
    with spans.start_tool_span(caller, trace) as span:
        outcome = _answer_call(call, body)
        args = sent if isinstance(sent := body.get("args"), dict) else {}
        op = call.catalog.find_op(outcome.answer.envelope["op"] or "")
        spans.end_tool_span(span, outcome.answer, caller=caller, trace=trace, op=op, args=args)
        if store_response and not outcome.is_stored:
            store_response(outcome.answer)
    return _name_ops(outcome.answer, call)


def reject_call(error: GatewayError, *, name: str, caller: Caller, trace: Trace, catalog: Catalog) -> EnvelopeResponse:
    """Return the response to a call that failed before it could start, and record its event."""
    call = ParsedCall(caller=caller, trace=trace, catalog=catalog, name=name, op=catalog.find_op(name))
    with spans.start_tool_span(caller, trace) as span:
        answer = _answer_failure(call, error)
        spans.end_tool_span(span, answer, caller=caller, trace=trace, op=call.op, args={})
    return _name_ops(answer, call)


def _name_ops(answer: EnvelopeResponse, call: ParsedCall) -> EnvelopeResponse:
    """Return the answer with the names of the caller's surface. Events and stored answers keep the paths."""
    names = surface_names.get_tool_names(call.caller, call.trace, call.catalog)
    if not names:
        return answer
    call.trace.hint = replace_paths(call.trace.hint, names)
    return replace(
        answer,
        envelope=surface_names.name_ops_in_envelope(
            answer.envelope, call.catalog, names, surface=call.caller.routing.surface
        ),
    )


def _answer_call(call: ParsedCall, body: dict[str, Any]) -> Outcome:
    stage: Stage = call
    claims_first = False
    try:
        stage = call = parse.find_op(call, body)
        stage = call = parse.parse_body(call, body)
        stage = call = parse.add_key(call, body.get("idempotency_key"))
        claims_first = _claims_first(call)
        if not claims_first and (replayed := _replay_stored(call)):
            return Outcome(replayed)
        stage = permitted = parse.permit_call(call)
        stage = valid = parse.validate(permitted)
        return _run_valid(valid)
    except Superseded:
        raise
    except Exception as error:
        # A stored answer comes before every error, as if it had been read first.
        if claims_first and isinstance(error, GatewayError | DeadlineExceeded):
            try:
                if replayed := _replay_stored(call):
                    return Outcome(replayed)
            except Exception as later_error:
                return Outcome(_answer_failure(call, _convert_error(call, later_error)))
        return Outcome(_answer_failure(stage, _convert_error(call, error)))


def _run_valid(valid: ValidCall) -> Outcome:
    """Run a call within its deadline. Raises GatewayError if it is refused or the upstream refuses or asks first."""
    call, op = valid.call, valid.work.op
    if call.shape.limits_size and (op.is_write or not valid.executor.is_remote):
        raise result_shape.refuse_size(op.op, call.shape, is_write=op.is_write)
    try:
        with valid.work.deadline.limit_waits():
            is_judged = not (call.dry_run or call.goes_on)
            flow = data_flow.check_call(call.caller, call.trace, op, call.catalog) if is_judged else None
            return _write(valid, flow) if op.is_write else _read(valid, flow)
    except InputRequired as asked:
        raise _ask_user(valid, asked) from None


def _ask_user(valid: ValidCall, asked: InputRequired) -> GatewayError:
    """Store what a call asks its user, and return the error that says so, with the token of the answer."""
    call, op = valid.call, valid.work.op.op
    caller = call.caller
    if not caller.key.client_id:  # an admin's try, which has no client to answer for
        return pending_inputs.build_error(op, next(iter(asked.questions.values())).as_dict())
    pending = PendingCall(
        body=call.body,
        release=call.catalog.version,
        context=asdict(caller.context),
        agent=caller.agent.name if caller.agent else "",
        key=call.key,
        questions={name: each.as_dict() for name, each in asked.questions.items()},
        state=asked.state,
        waiting_call=asked.waiting_call,
    )
    return pending_inputs.ask(
        pending, caller, op=op, trace_id=call.trace.id, at=call.trace.at, batch_entry=call.batch_entry
    )


def _read(valid: ValidCall, flow: FlowDecision | None) -> Outcome:
    call, work, executor = valid.call, valid.work, valid.executor
    if flow and flow.asks:
        _use_confirmation_of_read(valid, flow)
    data_flow.record_labels(call.caller, call.trace, work.op, call.catalog)
    prepared = executor.authorize(work, executor.prepare(work))
    with _limit_read(valid), prepare_statements():
        response = local_write.apply_timed(valid, prepared)
    shaped = (
        result_shape.shape_read(work, operations.add_row(work, response), call.shape)
        if executor.is_remote
        else ShapedResponse(response)
    )
    success = answer.build_success(valid, shaped.outcome, next_cursor=shaped.next_cursor)
    event_log.enqueue_event(answer.build_event(call, success))
    return Outcome(success)


def _use_confirmation_of_read(valid: ValidCall, flow: FlowDecision) -> None:
    """Use up the token of a read that sends data out. Raises ConflictError if the user has not agreed to the call."""
    caller, work = valid.call.caller, valid.work
    if not confirmation.is_confirmed(caller, work):
        effect = UpstreamResponse({"message": f"{work.op.op} would be sent with these args."})
        operation = operations.describe_outcome(work.op, work.args, effect)
        raise confirmation.build_required_error(caller, work, operation, effect.result, flow)
    try:
        with transaction.atomic():
            confirmation.use_token(caller, work, trace_id=valid.call.trace.id)
    except confirmation.TokenUsed:
        raise confirmation.build_used_error(work) from None


def _limit_read(valid: ValidCall) -> AbstractContextManager[None]:
    if valid.executor.transactional:
        return db_errors.enforce_read_deadline(valid.work.deadline, timeout_ms=valid.work.op.timeout_ms)
    return nullcontext()  # a transaction must not stay open while a remote upstream takes its time


def _write(valid: ValidCall, flow: FlowDecision | None) -> Outcome:
    call, caller, work, is_local = valid.call, valid.call.caller, valid.work, valid.executor.transactional
    asking = flow if flow and flow.asks else None
    if (asking or confirmation.is_needed(caller, work.op)) and not call.dry_run and not call.goes_on:
        valid = replace(valid, is_confirmed=confirmation.is_confirmed(caller, work))
        if not valid.is_confirmed:
            # A call that would fail needs no agreement: its error is the answer.
            effect = local_write.rehearse(valid) if is_local else remote_write.rehearse(valid)
            operation = operations.describe_outcome(work.op, work.args, effect)
            raise confirmation.build_required_error(caller, work, operation, effect.result, asking)
    data_flow.record_labels(caller, call.trace, work.op, call.catalog)
    try:
        return local_write.run(valid) if is_local else remote_write.run(valid)
    except confirmation.TokenUsed:
        raise confirmation.build_used_error(work) from None


def _claims_first(call: ParsedCall) -> bool:
    """Whether claiming the key can tell if an answer is stored, which saves the query for one.

    Only for what claims the key in the transaction of the write, before anything has an effect. A claim on SQLite would
    wait for other writes, which replaying an answer need not do.
    """
    if call.keyed_call is None or call.op is None or call.op.confirm or connection.vendor != "postgresql":
        return False
    try:
        return executor_for(call.op).transactional
    except InternalError:
        return False


def _replay_stored(call: ParsedCall) -> EnvelopeResponse | None:
    """Return the stored answer of an earlier call with this key, if any.

    The caller still needs permission. The op need not be live any more.
    """
    stored = idempotency.find_stored_response(call.keyed_call, at=call.trace.at) if call.keyed_call else None
    if stored is None:
        return None
    if call.op is not None:
        parse.check_permission(call, call.op)
    elif Scope.EXEC_WRITE not in call.caller.key.scopes:
        raise PermissionDeniedError(
            "This API key cannot write. Use a key with the scope exec:write.", reason="scope_missing"
        )
    replayed = answer.build_replay(call, stored)
    event_log.enqueue_event(answer.build_event(call, replayed, replayed=True))
    return replayed


def _convert_error(call: ParsedCall, error: Exception) -> GatewayError:
    """Return the API error for what a step raised. What is a bug is logged with its traceback."""
    if isinstance(error, GatewayError):
        return error
    if isinstance(error, DeadlineExceeded | OperationalError | InterfaceError):
        return db_errors.to_api_error(error, keyed=call.keyed_call is not None)
    if is_schema_missing(error):
        return build_not_migrated_error()
    name = call.op.op if call.op else "-"
    log.error("exec.crashed op=%s trace=%s\n%s", name, call.trace.id, logs.format_safely(error))
    return InternalError("The gateway failed to run this call. Tell the administrator its trace id.")


def _answer_failure(stage: Stage, error: GatewayError) -> EnvelopeResponse:
    """Return the response to a failed call, record its event and log it.

    Caller mistakes are logged as INFO, and so is what is not configured.
    """
    call = stage if isinstance(stage, ParsedCall) else stage.call
    failure = answer.build_failure(stage, error)
    event_log.enqueue_event(answer.build_event(call, failure))
    is_fault = error.status >= 500 and error.reason not in EXPECTED_REASONS
    level = logging.WARNING if is_fault else logging.INFO
    name = call.op.op if call.op else "-"
    log.log(level, "exec.failed op=%s code=%s reason=%s trace=%s", name, error.code, error.reason, call.trace.id)
    return failure
