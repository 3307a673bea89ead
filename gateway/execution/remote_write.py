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
from gateway.execution import answer, confirmation, idempotency, local_write, operations, result_shape
from gateway.execution.idempotency import KeyedCall
from gateway.execution.stages import Outcome, ParsedCall, ValidCall
from gateway.executors.base import UpstreamResponse

log = logging.getLogger(__name__)
DRY_RUN_WARNING = "Dry run: nothing was sent."
STORE_GRACE = timedelta(seconds=5)  # time for storing the outcome after the call's deadline


def run(valid: ValidCall) -> Outcome:
    """Run a remote write and return its answer. Without an idempotency key a repeated call is sent again.

    Raises ConflictError if another call with the key is running, without waiting: an upstream may take arbitrarily
    long. Raises an error that is not final if nothing was applied, OutcomeUnknownError if the outcome could not be
    stored.
    """
    call, work, executor = valid.call, valid.work, valid.executor
    if call.dry_run:
        return Outcome(answer.build_success(valid, rehearse(valid), dry_run_warning=DRY_RUN_WARNING))
    prepared = executor.authorize(work, executor.prepare(work))
    claim = _claim_call(valid)
    if call.keyed_call and claim is None:
        return Outcome(local_write.replay_stored_response(call, call.keyed_call))
    try:
        response = operations.add_row(work, local_write.apply_timed(valid, prepared))
    except GatewayError as gateway_error:
        if not gateway_error.is_final:
            if claim is not None:
                idempotency.release_claim(claim)
            raise
        in_doubt = isinstance(gateway_error, OutcomeUnknownError)
        return _store_outcome(call, claim, answer.build_failure(valid, gateway_error), in_doubt=in_doubt)
    except Exception as error:
        _log_unknown_outcome(call, error)
        failure = answer.build_failure(valid, errors.build_outcome_unknown_error())
        return _store_outcome(call, claim, failure, in_doubt=True)
    except BaseException:  # the process is shutting down
        if claim is not None:
            idempotency.mark_outcome_unknown(claim)
        raise
    return _store_outcome(call, claim, answer.build_success(valid, result_shape.shape_write(work, response)))


def rehearse(valid: ValidCall) -> UpstreamResponse:
    """Return that the call is valid. Nothing is sent, so the effect is not known. Raises GatewayError if it is not."""
    valid.executor.prepare(valid.work)
    message = f"{valid.work.op.op} would be sent with these args; its answer is not known."
    return UpstreamResponse(result={"message": message})


def _claim_call(valid: ValidCall) -> int | None:
    """Claim the key, if there is one, and use up the confirmation, if there is one: both or neither."""
    call, keyed = valid.call, valid.call.keyed_call
    if not valid.is_confirmed:
        return _claim_key(valid, keyed) if keyed else None
    with transaction.atomic():
        claim = _claim_key(valid, keyed) if keyed else None
        if claim is not None or not keyed:
            confirmation.use_token(call.caller, valid.work, trace_id=call.trace.id)
    return claim


def _claim_key(valid: ValidCall, keyed: KeyedCall) -> int | None:
    call = valid.call
    doubtful_at = call.trace.at + timedelta(milliseconds=valid.work.deadline.get_remaining_ms()) + STORE_GRACE
    return idempotency.claim_key(keyed, trace_id=call.trace.id, at=call.trace.at, doubtful_at=doubtful_at)


def _store_outcome(
    call: ParsedCall, claim: int | None, written: EnvelopeResponse, *, in_doubt: bool = False
) -> Outcome:
    """Store the outcome and its event in one transaction. Raises OutcomeUnknownError if that fails.

    The response is handed over after this commits, not inside: a batch entry that another runner took over must not
    roll back a known outcome.
    """
    try:
        json_text.dump(written.envelope)
        with transaction.atomic():
            if claim is not None and in_doubt:
                idempotency.mark_outcome_unknown(claim)
            elif claim is not None:
                idempotency.store_response(claim, status=written.status, envelope=written.envelope)
            event_log.record_event(answer.build_event(call, written))
    except Exception as error:
        _log_unknown_outcome(call, error)
        raise errors.build_outcome_unknown_error() from None
    return Outcome(written)


def _log_unknown_outcome(call: ParsedCall, error: Exception) -> None:
    message = "exec.outcome_unknown op=%s trace=%s\n%s"
    log.error(message, call.path, call.trace.id, logs.format_safely(error))
