"""Writes by a transactional executor: claim, handler, outcome and event commit in one transaction or not at all."""

import logging
import time
from typing import Any

import orjson
from django.db import OperationalError, connection, transaction

from analytics import events
from core import deadlines
from gateway import calls, database, idempotency
from gateway.calls import Call
from gateway.envelopes import Answer, Trace
from gateway.errors import GatewayError
from gateway.executors.base import Executor, Outcome, Work

log = logging.getLogger(__name__)
DEADLOCKS = 2  # retries after a deadlock; PostgreSQL takes a second to detect one


def run(call: Call, work: Work, executor: Executor) -> Answer:
    """Run a write and return its response, committed together with its claim and its event.

    A GatewayError rolls back to the savepoint and becomes the response. Any other exception rolls back everything and
    frees the idempotency key. A write that lost a deadlock has done nothing and runs again.
    """
    prepared = executor.prepare(work)
    for _ in range(DEADLOCKS):
        try:
            return _written(call, work, executor, prepared)
        except OperationalError as error:
            if not database.is_deadlock(error) or connection.in_atomic_block:
                raise
            log.info("exec.deadlock_retried op=%s trace=%s", work.op.op, call.trace.id)
    return _written(call, work, executor, prepared)


def _written(call: Call, work: Work, executor: Executor, prepared: Any) -> Answer:
    keyed = call.keyed
    deadlines.wait_for_write_lock_at_most(work.deadline)
    with transaction.atomic():
        deadlines.bound_statements(work.deadline)
        claim = idempotency.claim(keyed, trace_id=call.trace.id, at=call.trace.at) if keyed else None
        if keyed and claim is None:
            return twin(call, keyed)
        answer = _applied(call, work, executor, prepared)
        if claim is not None:
            idempotency.finish(claim, status=answer.status, envelope=answer.envelope)
        else:
            orjson.dumps(answer.envelope)  # roll back a result that is not JSON; finish serialises it otherwise
        if call.settle:
            call.settle(answer)
        events.record(calls.event(call, answer))
    call.is_settled = True
    return answer


def rehearse(call: Call, work: Work, executor: Executor) -> Answer:
    """Run the same code as a write, roll it back and return the response."""
    prepared = executor.prepare(work)
    deadlines.wait_for_write_lock_at_most(work.deadline)
    with transaction.atomic():
        deadlines.bound_statements(work.deadline)
        answer = _applied(call, work, executor, prepared)
        transaction.set_rollback(True)
    return answer


def timed(trace: Trace, executor: Executor, work: Work, prepared: Any) -> Outcome:
    """Run the executor and add its time to the trace."""
    started = time.perf_counter()
    try:
        return executor.apply(work, prepared)
    finally:
        trace.handler_ms += (time.perf_counter() - started) * 1000


def _applied(call: Call, work: Work, executor: Executor, prepared: Any) -> Answer:
    """Run the handler inside a savepoint. A GatewayError or a dry run rolls it back."""
    try:
        with transaction.atomic():
            with work.deadline.enforced():
                outcome = timed(call.trace, executor, work, prepared)
            transaction.set_rollback(call.dry_run)
    except GatewayError as refusal:
        return calls.failed(call, refusal)
    return calls.succeeded(call, work, outcome)


def twin(call: Call, keyed: idempotency.KeyedCall) -> Answer:
    """Return the stored response of the call that holds the key. Raises Conflict if it has not ended."""
    stored = idempotency.find(keyed, at=call.trace.at)
    if stored is None:
        raise idempotency.in_progress(keyed.op)
    answer = calls.replayed(call, stored)
    events.record(calls.event(call, answer, replayed=True))
    return answer
