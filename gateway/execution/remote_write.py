"""Writes to a remote upstream, which our transaction cannot undo.

The claim is committed first, then the write is sent, then its outcome is stored. If no answer came, or the process
died, the outcome is `unknown`: the gateway never sends the write again, and a call with the same key gets an error.
"""

import logging
from datetime import timedelta

from django.db import transaction

from analytics.events import event_log
from core import logs
from core.text import json_text
from gateway.contracts import errors
from gateway.contracts.envelopes import EnvelopeResponse
from gateway.contracts.errors import GatewayError, OutcomeUnknownError
from gateway.execution import confirmation, exec_call, idempotency, local_write, result_shape
from gateway.execution.exec_call import ExecCall
from gateway.execution.idempotency import KeyedCall
from gateway.executors.base import Executor, UpstreamCall, UpstreamResponse

log = logging.getLogger(__name__)
DRY_RUN_WARNING = "Dry run: nothing was sent."
STORE_GRACE = timedelta(seconds=5)  # time for storing the outcome after the call's deadline


def run_remote_write(call: ExecCall, work: UpstreamCall, executor: Executor) -> EnvelopeResponse:
    """Run a remote write and return its response. Without an idempotency key a repeated call is sent again.

    Raises ConflictError if another call with the key is running, without waiting: an upstream may take arbitrarily
    long. Raises an error that is not final if nothing was applied, OutcomeUnknownError if the outcome could not be
    stored.
    """
    if call.dry_run:
        return dry_run_write(call, work, executor)
    prepared = executor.authorize(work, executor.prepare(work))
    claim = _claim_call(call, work)
    if call.keyed_call and claim is None:
        return local_write.replay_stored_response(call, call.keyed_call)
    try:
        outcome = local_write.apply_timed(call.trace, executor, work, prepared)
    except GatewayError as gateway_error:
        if not gateway_error.is_final:
            if claim is not None:
                idempotency.release_claim(claim)
            raise
        return _store_outcome(
            call,
            claim,
            exec_call.build_failure(call, gateway_error),
            in_doubt=isinstance(gateway_error, OutcomeUnknownError),
        )
    except Exception as error:
        _log_unknown_outcome(call, error)
        return _store_outcome(
            call, claim, exec_call.build_failure(call, errors.build_outcome_unknown_error()), in_doubt=True
        )
    except BaseException:  # the process is shutting down
        if claim is not None:
            idempotency.mark_outcome_unknown(claim)
        raise
    return _store_outcome(call, claim, exec_call.build_success(call, work, result_shape.shape_write(work, outcome)))


def dry_run_write(call: ExecCall, work: UpstreamCall, executor: Executor) -> EnvelopeResponse:
    """Return the response to a dry run: the call is valid. Nothing is sent, so the effect is not known."""
    executor.prepare(work)
    result = {"message": f"{work.op.op} would be sent with these args; what it would answer is not known."}
    return exec_call.build_success(call, work, UpstreamResponse(result=result), dry_run_warning=DRY_RUN_WARNING)


def _claim_call(call: ExecCall, work: UpstreamCall) -> int | None:
    """Claim the key, if there is one, and use up the confirmation, if there is one: both or neither."""
    if not call.is_confirmed:
        return _claim_key(call, call.keyed_call, work) if call.keyed_call else None
    with transaction.atomic():
        claim = _claim_key(call, call.keyed_call, work) if call.keyed_call else None
        if claim is not None or not call.keyed_call:
            confirmation.use_token(call.caller, work, trace_id=call.trace.id)
    return claim


def _claim_key(call: ExecCall, keyed: KeyedCall, work: UpstreamCall) -> int | None:
    doubtful_at = call.trace.at + timedelta(milliseconds=work.deadline.get_remaining_ms()) + STORE_GRACE
    return idempotency.claim_key(keyed, trace_id=call.trace.id, at=call.trace.at, doubtful_at=doubtful_at)


def _store_outcome(
    call: ExecCall, claim: int | None, answer: EnvelopeResponse, *, in_doubt: bool = False
) -> EnvelopeResponse:
    """Store the outcome and its event in one transaction. Raises OutcomeUnknownError if that fails.

    The response is handed over after this commits, not inside: a batch entry that another runner took over must not
    roll back a known outcome.
    """
    try:
        json_text.dump(answer.envelope)
        with transaction.atomic():
            if claim is not None and in_doubt:
                idempotency.mark_outcome_unknown(claim)
            elif claim is not None:
                idempotency.store_response(claim, status=answer.status, envelope=answer.envelope)
            event_log.record_event(exec_call.build_event(call, answer))
    except Exception as error:
        _log_unknown_outcome(call, error)
        raise errors.build_outcome_unknown_error() from None
    return answer


def _log_unknown_outcome(call: ExecCall, error: Exception) -> None:
    message = "exec.outcome_unknown op=%s trace=%s\n%s"
    log.error(message, call.path, call.trace.id, logs.format_safely(error))
