"""Run a valid call: a read at once, a write once the end user has agreed where that is needed."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from analytics.events import event_log
from gateway.execution import answer, confirmation, db_errors, local_write, operations, remote_write, result_shape
from gateway.execution.result_shape import ShapedResponse
from gateway.execution.stages import Outcome, ValidCall


def run_call(valid: ValidCall) -> Outcome:
    """Run a call within its deadline. Raises GatewayError if it is refused or the upstream refuses it."""
    call, op = valid.call, valid.work.op
    if call.shape and (op.is_write or not valid.executor.is_remote):
        raise result_shape.refuse_shape(op.op, call.shape, is_write=op.is_write)
    with valid.work.deadline.limit_waits():
        return _write(valid) if op.is_write else _read(valid)


def _read(valid: ValidCall) -> Outcome:
    call, work, executor = valid.call, valid.work, valid.executor
    prepared = executor.authorize(work, executor.prepare(work))
    with _limit_read(valid):
        response = local_write.apply_timed(valid, prepared)
    shaped = result_shape.shape_read(work, response, call.shape) if executor.is_remote else ShapedResponse(response)
    success = answer.build_success(valid, shaped.outcome, next_cursor=shaped.next_cursor)
    event_log.enqueue_event(answer.build_event(call, success))
    return Outcome(success)


def _limit_read(valid: ValidCall) -> AbstractContextManager[None]:
    if valid.executor.transactional:
        return db_errors.enforce_read_deadline(valid.work.deadline, timeout_ms=valid.work.op.timeout_ms)
    return nullcontext()  # a transaction must not stay open while a remote upstream takes its time


def _write(valid: ValidCall) -> Outcome:
    caller, work, is_local = valid.call.caller, valid.work, valid.executor.transactional
    if confirmation.is_needed(caller, work.op) and not valid.call.dry_run:
        valid = replace(valid, is_confirmed=confirmation.is_confirmed(caller, work))
        # A call that would fail needs no agreement: it fails below.
        rehearse = local_write.rehearse if is_local else remote_write.rehearse
        if not valid.is_confirmed and (effect := rehearse(valid)):
            operation = operations.describe_outcome(work.op, work.args, effect)
            raise confirmation.build_required_error(caller, work, operation, effect.result)
    try:
        return local_write.run(valid) if is_local else remote_write.run(valid)
    except confirmation.TokenUsed:
        raise confirmation.build_used_error(work) from None
