"""Writes by a transactional executor: claim, handler, outcome and event commit in one transaction or not at all."""

import logging
import random
import time
from typing import Any

from django.db import OperationalError, connection, transaction

from analytics.events import event_log
from core.database import deadlines
from core.database.deadlines import execute_together
from core.text import json_text
from gateway.contracts.envelopes import EnvelopeResponse
from gateway.contracts.errors import GatewayError
from gateway.execution import answer, confirmation, db_errors, idempotency, result_shape
from gateway.execution.stages import Outcome, ParsedCall, ValidCall
from gateway.executors.base import UpstreamResponse

log = logging.getLogger(__name__)
MAX_DEADLOCK_RETRIES = 2  # retries after a deadlock; PostgreSQL takes a second to detect one
# Seconds that the loser of a deadlock waits at least and at most. It would else take its rows again before the winner
# wakes up, and both would wait for each other once more.
DEADLOCK_PAUSE = 0.05, 0.15


def run(valid: ValidCall) -> Outcome:
    """Run a write and return its answer, committed together with its claim and its event.

    A GatewayError rolls back to the savepoint and becomes the answer. Any other exception rolls back everything and
    frees the idempotency key. A write that lost a deadlock has done nothing and runs again.
    """
    prepared = valid.executor.prepare(valid.work)
    for _ in range(MAX_DEADLOCK_RETRIES):
        try:
            return _write_once(valid, prepared)
        except OperationalError as error:
            if not db_errors.is_deadlock(error) or connection.in_atomic_block:
                raise
            log.info("exec.deadlock_retried op=%s trace=%s", valid.work.op.op, valid.call.trace.id)
            time.sleep(random.uniform(*DEADLOCK_PAUSE))
    return _write_once(valid, prepared)


def _write_once(valid: ValidCall, prepared: Any) -> Outcome:
    call = valid.call
    with transaction.atomic():
        limits = deadlines.build_limit_statements(valid.work.deadline)
        if call.keyed_call is None:
            execute_together(*limits)
            written = _apply_in_savepoint(valid, prepared)
            json_text.dump(written.envelope)  # roll back a result that is not JSON; finish serialises it otherwise
            outcome = []
        else:
            claim = idempotency.claim_key(call.keyed_call, trace_id=call.trace.id, at=call.trace.at, after=limits)
            if claim is None:
                return Outcome(replay_stored_response(call, call.keyed_call))
            written = _apply_in_savepoint(valid, prepared)
            outcome = [idempotency.build_store_statement(claim, status=written.status, envelope=written.envelope)]
        if call.store_response:
            call.store_response(written)
        event_log.record_event(answer.build_event(call, written), after=outcome)
    return Outcome(written, is_stored=True)


def rehearse(valid: ValidCall) -> UpstreamResponse:
    """Return what a write would do: it runs and is rolled back. Raises GatewayError if it would be refused."""
    prepared = valid.executor.prepare(valid.work)
    with transaction.atomic():
        deadlines.limit_statement_time(valid.work.deadline)
        response = _apply_within_deadline(valid, prepared)
        transaction.set_rollback(True)
    return response


def apply_timed(valid: ValidCall, prepared: Any) -> UpstreamResponse:
    """Run the executor and add its time to the trace. An op of this process answers the `fields` of the call."""
    started = time.perf_counter()
    try:
        response = valid.executor.apply(valid.work, prepared)
    finally:
        valid.call.trace.handler_ms += (time.perf_counter() - started) * 1000
    return response if valid.executor.is_remote else result_shape.shape_local(valid.work, response)


def replay_stored_response(call: ParsedCall, keyed: idempotency.KeyedCall) -> EnvelopeResponse:
    """Return the stored answer of the call that holds the key. Raises ConflictError if it has not ended."""
    stored = idempotency.find_stored_response(keyed, at=call.trace.at)
    if stored is None:
        raise idempotency.build_in_progress_error(keyed.op)
    replayed = answer.build_replay(call, stored)
    event_log.record_event(answer.build_event(call, replayed, replayed=True))
    return replayed


def _apply_in_savepoint(valid: ValidCall, prepared: Any) -> EnvelopeResponse:
    """Run the handler inside a savepoint. A GatewayError or a dry run rolls it back, and leaves the token unused."""
    call = valid.call
    try:
        with transaction.atomic():
            if valid.is_confirmed:
                confirmation.use_token(call.caller, valid.work, trace_id=call.trace.id)
            response = _apply_within_deadline(valid, prepared)
            transaction.set_rollback(call.dry_run)
    except GatewayError as error:
        return answer.build_failure(valid, error)
    return answer.build_success(valid, response)


def _apply_within_deadline(valid: ValidCall, prepared: Any) -> UpstreamResponse:
    with valid.work.deadline.enforce():
        return apply_timed(valid, prepared)
