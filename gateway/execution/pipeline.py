"""exec: from a body to an envelope.

The steps in order: parse the body, replay a stored response, resolve the op, check permission and switches, validate
the args, ask for confirmation, run. Every step either returns or raises; `execute` turns exceptions into
responses.
"""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from analytics.events import event_log
from core import logs
from core.database.deadlines import Deadline, DeadlineExceeded
from core.database.watch import is_schema_missing
from gateway.access import policies, release_routing
from gateway.access.request_context import Caller
from gateway.arguments import normalise
from gateway.contracts import request_schemas
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import (
    EXPECTED_REASONS,
    GatewayError,
    InternalError,
    PermissionDeniedError,
    build_not_migrated_error,
)
from gateway.contracts.validation import find_field_errors
from gateway.execution import (
    call_errors,
    confirmation,
    db_errors,
    exec_call,
    idempotency,
    local_write,
    op_guesses,
    remote_write,
    result_shape,
)
from gateway.execution.exec_call import ExecCall, Superseded
from gateway.execution.result_shape import ShapedResponse, ShapeRequest
from gateway.executors import executor_for
from gateway.executors.base import Executor, UpstreamCall
from gateway.models import Scope
from registry.catalog.model import Catalog, CatalogOp

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
) -> EnvelopeResponse:
    """Run one op and return its response. Raises cache.NoLiveRelease; every other failure becomes a response.

    A batch entry passes the catalog of its release, a deadline in addition to that of its op, the idempotency key to
    use if neither body nor header has one, and `store_response`, which for a write runs in the same transaction. If
    it raises Superseded, the write is rolled back and the exception propagates.
    """
    call = ExecCall(
        caller=caller,
        trace=trace,
        catalog=catalog or release_routing.get_catalog(caller.routing),
        until=until,
        key=key,
        store_response=store_response,
    )
    logs.release.set(call.catalog.version)
    trace.release = call.catalog.version
    answer = _respond(call, body)
    if call.store_response and not call.is_stored:
        call.store_response(answer)
    return answer


def reject_call(error: GatewayError, *, name: str, caller: Caller, trace: Trace, catalog: Catalog) -> EnvelopeResponse:
    """Return the response to a call that failed before it could start, and record its event."""
    return _respond_with_error(
        ExecCall(caller=caller, trace=trace, catalog=catalog, name=name, op=catalog.find_op(name)), error
    )


def _respond(call: ExecCall, body: dict[str, Any]) -> EnvelopeResponse:
    try:
        _parse_body(call, body)
        return _claim_and_run(call) if _may_claim_first(call) else _replay_stored(call) or _run_op(call)
    except GatewayError as error:
        return _respond_with_error(call, error)
    except Superseded:
        raise
    except (DeadlineExceeded, OperationalError, InterfaceError) as error:
        return _respond_with_error(call, db_errors.to_api_error(error, keyed=call.keyed_call is not None))
    except Exception as error:
        if is_schema_missing(error):
            return _respond_with_error(call, build_not_migrated_error())
        log.error(
            "exec.crashed op=%s trace=%s\n%s",
            call.op.op if call.op else "-",
            call.trace.id,
            logs.format_safely(error),
        )
        return _respond_with_error(
            call, InternalError("The gateway failed to run this call. Tell the administrator its trace id.")
        )


def _parse_body(call: ExecCall, body: dict[str, Any]) -> None:
    """Parse the body into the call.

    Raises InvalidRequestError with all field errors and, if it is certain, the corrected call.
    """
    name = body.get("op")
    if isinstance(name, str):
        call.name, call.op = name, call.catalog.find_op(name)
        if call.op is None and (only_op := op_guesses.find_only_op(call.view, name)):
            call.op = call.catalog.ops[only_op]
            call.warnings.append(f"Read {name} as {only_op}, its only op.")
    _check_body(call, body)
    call.args = body.get("args", {})
    call.dry_run = body.get("dry_run", False)
    call.shape = ShapeRequest(tuple(body.get("fields", ())), body.get("max_tokens"), body.get("cursor", ""))
    sent_key = request_schemas.resolve_idempotency_key(body.get("idempotency_key"), call.caller.idempotency_key)
    call.key = call.key if sent_key is None else sent_key
    if sent_key is not None and call.op is not None and not call.op.is_write:
        call.warnings.append("Ignored the idempotency key: reads do not need one.")


def _check_body(call: ExecCall, body: dict[str, Any]) -> None:
    if not body:
        raise call_errors.build_empty_call_error(call)
    errors = find_field_errors(request_schemas.get_exec_validator(), body)
    if errors:
        raise call_errors.build_malformed_call_error(call.op, body, errors)


def _replay_stored(call: ExecCall) -> EnvelopeResponse | None:
    """Return the stored response of an earlier call with this key, if any.

    The caller still needs permission. The op need not be live any more.
    """
    stored = idempotency.find_stored_response(call.keyed_call, at=call.trace.at) if call.keyed_call else None
    if stored is None:
        return None
    if call.op is not None:
        _check_permission(call, call.op)
    elif Scope.EXEC_WRITE not in call.caller.key.scopes:
        raise PermissionDeniedError(
            "This API key may not write. Use a key with the scope exec:write.", reason="scope_missing"
        )
    answer = exec_call.build_replay(call, stored)
    event_log.enqueue_event(exec_call.build_event(call, answer, replayed=True))
    return answer


def _may_claim_first(call: ExecCall) -> bool:
    """Whether claiming the key can tell if a response is stored, which saves the query for one.

    Only for what claims the key in the transaction of the write, before anything has an effect. A claim on SQLite would
    wait for other writes, which replaying a response need not do.
    """
    if connection.vendor != "postgresql" or call.keyed_call is None or call.op is None or call.op.confirm:
        return False
    try:
        return executor_for(call.op).transactional
    except InternalError:
        return False


def _claim_and_run(call: ExecCall) -> EnvelopeResponse:
    """Run an op that claims its key first. A stored response comes before every error, as if it was read first."""
    warnings = list(call.warnings)
    try:
        return _run_op(call)
    except (GatewayError, DeadlineExceeded):
        failed = call.warnings, call.applied_defaults
        call.warnings, call.applied_defaults = warnings, {}
        if stored := _replay_stored(call):
            return stored
        call.warnings, call.applied_defaults = failed
        raise


def _run_op(call: ExecCall) -> EnvelopeResponse:
    requested_op = _resolve_op(call)
    _check_permission(call, requested_op)
    executor_for(requested_op)  # before validation: corrected args do not help an op that cannot run
    _check_switched_on(call, requested_op)
    op, args = _validate_args(call, requested_op)
    if call.shape and (op.is_write or not executor_for(op).is_remote):
        raise result_shape.refuse_shape(op.op, call.shape, is_write=op.is_write)
    work = UpstreamCall(
        op=op,
        catalog=call.catalog,
        visibility=call.caller.visibility,
        args=args,
        subject=call.caller.subject,
        at=call.trace.at,
        deadline=Deadline.after(milliseconds=op.timeout_ms).or_earlier(call.until),
        client_id=call.caller.key.client_id,
        trace_id=call.trace.id,
        idempotency_scope=call.keyed_call.scope if call.keyed_call else "",
    )
    with work.deadline.limit_waits():
        return _run_within_deadline(call, work)


def _run_within_deadline(call: ExecCall, work: UpstreamCall) -> EnvelopeResponse:
    op, executor = work.op, executor_for(work.op)
    if op.is_write:
        _require_confirmation(call, work, executor)
        write = local_write.run_local_write if executor.transactional else remote_write.run_remote_write
        try:
            return write(call, work, executor)
        except confirmation.TokenUsed:
            raise confirmation.build_used_error(work) from None
    prepared = executor.authorize(work, executor.prepare(work))
    with _limit_read(work, executor):
        outcome = local_write.apply_timed(call.trace, executor, work, prepared)
    shaped = result_shape.shape_read(work, outcome, call.shape) if executor.is_remote else ShapedResponse(outcome)
    answer = exec_call.build_success(call, work, shaped.outcome, next_cursor=shaped.next_cursor)
    event_log.enqueue_event(exec_call.build_event(call, answer))
    return answer


def _limit_read(work: UpstreamCall, executor: Executor) -> AbstractContextManager[None]:
    if executor.transactional:
        return db_errors.enforce_read_deadline(work.deadline, timeout_ms=work.op.timeout_ms)
    return nullcontext()  # a transaction must not stay open while a remote upstream takes its time


def _require_confirmation(call: ExecCall, work: UpstreamCall, executor: Executor) -> None:
    """Raise ConflictError if the end user must agree first. It holds the result of a dry run and the token."""
    if not confirmation.is_needed(call.caller, work.op) or call.dry_run:
        return
    call.is_confirmed = confirmation.is_confirmed(call.caller, work)
    if not call.is_confirmed:
        call.is_trial = True
        try:
            dry_run = (local_write if executor.transactional else remote_write).dry_run_write(call, work, executor)
        finally:
            call.is_trial = False
        if dry_run.envelope["ok"]:  # a call that would fail needs no agreement
            raise confirmation.build_required_error(call.caller, work, dry_run.envelope)


def _resolve_op(call: ExecCall) -> CatalogOp:
    if call.op is None:
        raise call_errors.build_unknown_op_error(call)
    if not call.op.is_active:
        raise call_errors.build_retired_op_error(call, call.op)
    return call.op


def _check_permission(call: ExecCall, op: CatalogOp) -> None:
    decision = policies.may_run(call.caller, op)
    if not decision.allowed:
        raise PermissionDeniedError(decision.message, reason=decision.reason)


def _check_switched_on(call: ExecCall, op: CatalogOp) -> None:
    if message := call.view.off_reasons.get(op.op):
        raise PermissionDeniedError(f"{message} Nothing was done.", reason="switched_off")


def _validate_args(call: ExecCall, op: CatalogOp) -> tuple[CatalogOp, dict[str, Any]]:
    """Return the op to run and its args in canonical form. A get without its id runs another op.

    Raises InvalidRequestError with all field errors at once.
    """
    result = normalise.normalise_args(op, call.args, call.caller.context)
    op, result = normalise.fall_back_to_list(op, result, catalog=call.catalog, caller=call.caller) or (op, result)
    call.warnings += result.warnings
    call.applied_defaults = result.applied_defaults
    if op is call.op:  # not the list that runs instead of a get without its id
        call.normal_args = result.args
    errors = find_field_errors(op.validator, result.args, id_sources=call_errors.find_id_sources(call, op))
    if normalise.is_empty_update(op, result.args):
        errors.append(call_errors.build_no_change_error(op))
    if errors:
        raise call_errors.build_invalid_args_error(call, op, result.without_defaults, errors)
    if op is call.op:  # not the list that runs instead of a get without its id
        call.valid_args = result.without_defaults
    return op, result.args


def _respond_with_error(call: ExecCall, error: GatewayError) -> EnvelopeResponse:
    """Return the response to a failed call, record its event and log it.

    Caller mistakes are logged as INFO, and so is what is not configured.
    """
    answer = exec_call.build_failure(call, error)
    event_log.enqueue_event(exec_call.build_event(call, answer))
    is_fault = error.status >= 500 and error.reason not in EXPECTED_REASONS
    level = logging.WARNING if is_fault else logging.INFO
    name = call.op.op if call.op else "-"
    log.log(level, "exec.failed op=%s code=%s reason=%s trace=%s", name, error.code, error.reason, call.trace.id)
    return answer
