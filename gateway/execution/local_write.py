"""Writes by a transactional executor: claim, handler, outcome and event commit in one transaction or not at all."""

import logging
import time
from typing import Any

from django.db import OperationalError, connection, transaction

from analytics.events import event_log
from core.database import deadlines
from core.database.deadlines import execute_together
from core.text import json_text
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import GatewayError
from gateway.execution import confirmation, db_errors, exec_call, idempotency
from gateway.execution.exec_call import ExecCall
from gateway.executors.base import Executor, UpstreamCall, UpstreamResponse

log = logging.getLogger(__name__)
MAX_DEADLOCK_RETRIES = 2  # retries after a deadlock; PostgreSQL takes a second to detect one


def run_local_write(call: ExecCall, work: UpstreamCall, executor: Executor) -> EnvelopeResponse:
    """Run a write and return its response, committed together with its claim and its event.

    A GatewayError rolls back to the savepoint and becomes the response. Any other exception rolls back everything and
    frees the idempotency key. A write that lost a deadlock has done nothing and runs again.
    """
    prepared = executor.prepare(work)
    for _ in range(MAX_DEADLOCK_RETRIES):
        try:
            return _write_once(call, work, executor, prepared)
        except OperationalError as error:
            if not db_errors.is_deadlock(error) or connection.in_atomic_block:
                raise
            log.info("exec.deadlock_retried op=%s trace=%s", work.op.op, call.trace.id)
    return _write_once(call, work, executor, prepared)


def _write_once(call: ExecCall, work: UpstreamCall, executor: Executor, prepared: Any) -> EnvelopeResponse:
    keyed = call.keyed_call
    with transaction.atomic():
        limits = deadlines.build_limit_statements(work.deadline)
        if keyed is None:
            execute_together(*limits)
            answer = _apply_in_savepoint(call, work, executor, prepared)
            json_text.dump(answer.envelope)  # roll back a result that is not JSON; finish serialises it otherwise
            outcome = []
        else:
            claim = idempotency.claim_key(keyed, trace_id=call.trace.id, at=call.trace.at, after=limits)
            if claim is None:
                return replay_stored_response(call, keyed)
            answer = _apply_in_savepoint(call, work, executor, prepared)
            outcome = [idempotency.build_store_statement(claim, status=answer.status, envelope=answer.envelope)]
        if call.store_response:
            call.store_response(answer)
        event_log.record_event(exec_call.build_event(call, answer), after=outcome)
    call.is_stored = True
    return answer


def dry_run_write(call: ExecCall, work: UpstreamCall, executor: Executor) -> EnvelopeResponse:
    """Run the same code as a write, roll it back and return the response."""
    prepared = executor.prepare(work)
    with transaction.atomic():
        deadlines.limit_statement_time(work.deadline)
        answer = _apply_in_savepoint(call, work, executor, prepared)
        transaction.set_rollback(True)
    return answer


def apply_timed(trace: Trace, executor: Executor, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
    """Run the executor and add its time to the trace."""
    started = time.perf_counter()
    try:
        return executor.apply(work, prepared)
    finally:
        trace.handler_ms += (time.perf_counter() - started) * 1000


def _apply_in_savepoint(call: ExecCall, work: UpstreamCall, executor: Executor, prepared: Any) -> EnvelopeResponse:
    """Run the handler inside a savepoint. A GatewayError or a dry run rolls it back, and leaves the token unused."""
    try:
        with transaction.atomic():
            if call.is_confirmed:
                confirmation.use_token(call.caller, work, trace_id=call.trace.id)
            with work.deadline.enforce():
                outcome = apply_timed(call.trace, executor, work, prepared)
            transaction.set_rollback(call.dry_run)
    except GatewayError as error:
        return exec_call.build_failure(call, error)
    return exec_call.build_success(call, work, outcome)


def replay_stored_response(call: ExecCall, keyed: idempotency.KeyedCall) -> EnvelopeResponse:
    """Return the stored response of the call that holds the key. Raises ConflictError if it has not ended."""
    stored = idempotency.find_stored_response(keyed, at=call.trace.at)
    if stored is None:
        raise idempotency.build_in_progress_error(keyed.op)
    answer = exec_call.build_replay(call, stored)
    event_log.record_event(exec_call.build_event(call, answer, replayed=True))
    return answer
