"""A write that no transaction of ours undoes: its claim is committed first, then it is sent, then its outcome stored.

What was sent without an answer, or by a process that died, is `unknown`: it is never sent again by itself, and a
call with the same key is told so.
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
GRACE = timedelta(seconds=5)  # that storing an outcome may take beyond the deadline of the call


def run(call: Call, work: Work, executor: Executor) -> Answer:
    """Run a remote write and return its answer. Without a key it is sent once, and that is all that is promised.

    Raises Conflict for a twin: at once, for nobody knows how long an upstream takes. Raises NotSent where nothing was
    sent, InDoubt where the outcome could not be stored.
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
    except BaseException:  # the process is told to end
        if claim is not None:
            idempotency.doubt(claim)
        raise
    return _kept(call, claim, calls.succeeded(call, work, outcome))


def rehearse(call: Call, work: Work, executor: Executor) -> Answer:
    """Return what a dry run can tell: that the call is valid. Nothing is sent."""
    executor.prepare(work)
    told = {"message": f"{work.op.op} would be sent with these args. Nothing was."}
    return calls.succeeded(call, work, Outcome(result=told))


def _claim(call: Call, keyed: KeyedCall, work: Work) -> int | None:
    doubtful_at = call.trace.at + timedelta(milliseconds=work.deadline.left_ms()) + GRACE
    return idempotency.claim(keyed, trace_id=call.trace.id, at=call.trace.at, doubtful_at=doubtful_at)


def _kept(call: Call, claim: int | None, answer: Answer, *, in_doubt: bool = False) -> Answer:
    """Store the outcome and its event together. Raises InDoubt where that fails: the caller may not rely on it.

    Whoever waits is told afterwards: a batch that has given its entry to another must not undo what is known.
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
    told = "%s was sent, and its outcome is not known, trace %s\n%s"
    log.error(told, call.path, call.trace.id, faults.told(error))
