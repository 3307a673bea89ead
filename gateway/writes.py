"""A write by a transactional executor: claim, handler, outcome and event in one transaction, or none of them."""

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
DEADLOCKS = 2  # that a write may lose before its caller hears of it; PostgreSQL takes a second to see one


def run(call: Call, work: Work, executor: Executor) -> Answer:
    """Run a write and return its answer, committed with its claim and its event.

    A refusal by the domain rolls back to the savepoint and is the answer; anything else raised rolls back all, and
    the idempotency key is free again. A write that lost a deadlock has done nothing and runs again.
    """
    prepared = executor.prepare(work)
    for _ in range(DEADLOCKS):
        try:
            return _written(call, work, executor, prepared)
        except OperationalError as error:
            if not database.is_deadlock(error) or connection.in_atomic_block:
                raise
            log.info("%s lost a deadlock and runs again, trace %s", work.op.op, call.trace.id)
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
            orjson.dumps(answer.envelope)  # what cannot be answered must not be kept; finish has shown it otherwise
        if call.settle:
            call.settle(answer)
        events.record(calls.event(call, answer))
    call.is_settled = True
    return answer


def rehearse(call: Call, work: Work, executor: Executor) -> Answer:
    """Return what a write would be answered, and undo it: the same code, with nothing kept."""
    prepared = executor.prepare(work)
    deadlines.wait_for_write_lock_at_most(work.deadline)
    with transaction.atomic():
        deadlines.bound_statements(work.deadline)
        answer = _applied(call, work, executor, prepared)
        transaction.set_rollback(True)
    return answer


def timed(trace: Trace, executor: Executor, work: Work, prepared: Any) -> Outcome:
    """Run the executor and note how long it took."""
    started = time.perf_counter()
    try:
        return executor.apply(work, prepared)
    finally:
        trace.handler_ms += (time.perf_counter() - started) * 1000


def _applied(call: Call, work: Work, executor: Executor, prepared: Any) -> Answer:
    """Run the handler inside a savepoint, which a refusal and a dry run roll back."""
    try:
        with transaction.atomic():
            with work.deadline.enforced():
                outcome = timed(call.trace, executor, work, prepared)
            transaction.set_rollback(call.dry_run)
    except GatewayError as refusal:
        return calls.failed(call, refusal)
    return calls.succeeded(call, work, outcome)


def twin(call: Call, keyed: idempotency.KeyedCall) -> Answer:
    """Answer what the call that holds the key was answered. Raises Conflict where it has not ended."""
    stored = idempotency.find(keyed, at=call.trace.at)
    if stored is None:
        raise idempotency.in_progress(keyed.op)
    answer = calls.replayed(call, stored)
    events.record(calls.event(call, answer, replayed=True))
    return answer
