"""Writes to a remote upstream, which our transaction cannot undo.

The claim is committed first, then the write is sent, then its outcome is stored. If no answer came, or the process
died, the outcome is `unknown`: the gateway never sends the write again, and a call with the same key gets an error.
"""

import logging
from datetime import timedelta

import orjson
from django.db import transaction

from analytics import events
from core import faults
from gateway import calls, errors, idempotency, writes
from gateway.calls import Call
from gateway.envelopes import Answer
from gateway.errors import GatewayError, InDoubt, NotSent
from gateway.executors.base import Executor, Outcome, Work
from gateway.idempotency import KeyedCall

log = logging.getLogger(__name__)
GRACE = timedelta(seconds=5)  # time for storing the outcome after the call's deadline


def run(call: Call, work: Work, executor: Executor) -> Answer:
    """Run a remote write and return its response. Without an idempotency key a repeated call is sent again.

    Raises Conflict if another call with the key is running, without waiting: an upstream may take arbitrarily long.
    Raises NotSent if nothing was sent, InDoubt if the outcome could not be stored.
    """
    if call.dry_run:
        return rehearse(call, work, executor)
    prepared = executor.prepare(work)
    claim = _claim(call, call.keyed, work) if call.keyed else None
    if call.keyed and claim is None:
        return writes.twin(call, call.keyed)
    try:
        outcome = writes.timed(call.trace, executor, work, prepared)
    except NotSent:
        if claim is not None:
            idempotency.free(claim)
        raise
    except GatewayError as refusal:
        return _kept(call, claim, calls.failed(call, refusal), in_doubt=isinstance(refusal, InDoubt))
    except Exception as error:
        _log(call, error)
        return _kept(call, claim, calls.failed(call, errors.in_doubt()), in_doubt=True)
    except BaseException:  # the process is shutting down
        if claim is not None:
            idempotency.doubt(claim)
        raise
    return _kept(call, claim, calls.succeeded(call, work, outcome))


def rehearse(call: Call, work: Work, executor: Executor) -> Answer:
    """Return the response to a dry run: the call is valid. Nothing is sent, so the effect is not known."""
    executor.prepare(work)
    told = {"message": f"{work.op.op} would be sent with these args. Nothing was sent."}
    return calls.succeeded(call, work, Outcome(result=told))


def _claim(call: Call, keyed: KeyedCall, work: Work) -> int | None:
    doubtful_at = call.trace.at + timedelta(milliseconds=work.deadline.left_ms()) + GRACE
    return idempotency.claim(keyed, trace_id=call.trace.id, at=call.trace.at, doubtful_at=doubtful_at)


def _kept(call: Call, claim: int | None, answer: Answer, *, in_doubt: bool = False) -> Answer:
    """Store the outcome and its event in one transaction. Raises InDoubt if that fails.

    The response is handed over after this commits, not inside: a batch entry that another runner took over must not
    roll back a known outcome.
    """
    try:
        orjson.dumps(answer.envelope)
        with transaction.atomic():
            if claim is not None and in_doubt:
                idempotency.doubt(claim)
            elif claim is not None:
                idempotency.finish(claim, status=answer.status, envelope=answer.envelope)
            events.record(calls.event(call, answer))
    except Exception as error:
        _log(call, error)
        raise errors.in_doubt() from None
    return answer


def _log(call: Call, error: Exception) -> None:
    told = "exec.outcome_unknown op=%s trace=%s\n%s"
    log.error(told, call.path, call.trace.id, faults.told(error))
