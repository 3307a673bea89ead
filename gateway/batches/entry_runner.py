"""Run an entry that was claimed: fill in references, run exec or help, and store how it ended."""

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import transaction

from analytics.events import event_log
from analytics.events.models import OperationEvent
from analytics.rollout.assignment import Routing
from core import logs, metrics, tracing
from core.background import leases
from core.database.connections import return_connection_after
from core.database.deadlines import Deadline
from core.metrics import CallLabels
from core.text import json_text
from gateway.access import key_verification, policies
from gateway.access.request_context import Caller, UserContext, find_agent
from gateway.batches import broker, entry_claims, loop_runner, loops, references, responses, store
from gateway.batches.loop_runner import LoopCall
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import (
    ConflictError,
    GatewayError,
    InternalError,
    InvalidRequestError,
    PermissionDeniedError,
)
from gateway.execution import pipeline, remote_write
from gateway.execution.stages import Superseded
from gateway.help import service
from gateway.models import Batch, BatchEntry, Scope
from gateway.recording import call_events
from registry.catalog import cache
from registry.catalog.model import Catalog
from registry.models import Release

log = logging.getLogger(__name__)

State = BatchEntry.State

DATABASE_GRACE = timedelta(seconds=1)  # after which an entry that lost its database connection is run again

CLOSE_MESSAGES = {
    "skipped": "An earlier entry failed, so this one was skipped (stop_on_error). Nothing was done.",
    "dependency_failed": "An entry that this one depends on did not succeed. Nothing was done; fix that one first.",
    "cancelled": "The batch was cancelled before this entry started. Nothing was done.",
    "stopped": "The stop_if of an earlier entry held, so this one did not start. Nothing was done.",
    "too_late": "The batch ran out of time before this entry started. Nothing was done; send it again.",
}


def run_claimed_entry(batch: Batch, entry: BatchEntry, until: Deadline | None) -> None:
    """Run an entry and store its result, also of a failure. `until` is a deadline in addition to that of the op.

    Raises Superseded if another run stores the result, or an error of the database.
    """
    trace = Trace(batch.trace_id, source=OperationEvent.Source.BATCH)
    labels: CallLabels | None
    try:
        catalog, caller = _load_catalog(batch), _load_caller(batch)
        if entry.type == "help":
            labels = _run_help_entry(entry, caller, trace, catalog)
        else:
            labels = _run_exec_entry(batch, entry, caller, trace, catalog, until)
    except GatewayError as error:
        entry_claims.finish_entry(entry, responses.build_entry_error(batch, entry, error, trace))
    except (Superseded, *store.DATABASE_DOWN_ERRORS):  # another run stores the result
        raise
    except Exception as error:
        log.error("batch.entry_crashed entry=%s trace=%s\n%s", entry, trace.id, logs.format_safely(error))
        failed = InternalError("The gateway failed to run this entry. Tell the administrator its trace id.")
        entry_claims.finish_entry(entry, responses.build_entry_error(batch, entry, failed, trace))
    else:
        if labels is not None:
            metrics.count_call(labels, seconds=trace.elapsed_ms() / 1000)


def close_entries(batch: Batch, reasons: dict[int, str]) -> int:
    """Close entries that will not run, as {index: reason}. Return how many of them had not started."""
    rows = BatchEntry.objects.filter(batch=batch, index__in=reasons).only("index", "type", "name")
    envelopes_by_index = {}
    for row in rows:
        reason = reasons[row.index]
        error = ConflictError(CLOSE_MESSAGES[reason], reason="cancelled" if reason == "too_late" else reason)
        envelopes_by_index[row.index] = responses.build_entry_error(batch, row, error, Trace(batch.trace_id))
    closed_count = entry_claims.close_entries(batch, envelopes_by_index)
    broker.notify_waiters()
    return closed_count


def _run_help_entry(entry: BatchEntry, caller: Caller, trace: Trace, catalog: Catalog) -> CallLabels:
    """Answer a help entry, store its result and return its metric labels."""
    body = entry.body
    path, event_type = body.get("path", ""), service.get_event_type(body)
    try:
        decision = policies.has_scope(caller, Scope.HELP)
        if not decision.allowed:
            raise PermissionDeniedError(decision.message, reason=decision.reason)
        answer = service.answer_help(body=body, caller=caller, trace=trace, catalog=catalog)
    except GatewayError as error:
        error_payload = error.as_dict()
        event_log.enqueue_event(
            call_events.build_event(
                event_type,
                caller=caller,
                trace=trace,
                name=path[:200],
                status=error.status,
                error=error_payload,
            )
        )
        entry_claims.finish_entry(entry, {"path": path, "ok": False, "error": error_payload})
        return call_events.build_metric_labels(event_type, error=error_payload)
    entry_claims.finish_entry(entry, {"path": answer.path, "ok": True, "result": json_text.load(answer.body)})
    return call_events.build_metric_labels(event_type, op_kind=answer.op_kind)


def _run_exec_entry(
    batch: Batch, entry: BatchEntry, caller: Caller, trace: Trace, catalog: Catalog, until: Deadline | None
) -> CallLabels | None:
    """Run an exec entry, store its response and return its metric labels; None for a loop, whose rows are counted."""

    def store_response(answer: EnvelopeResponse) -> None:
        if delay := _get_delay(entry, answer.envelope, catalog):
            leases.extend(entry, delay)
        else:
            stop_if = entry.body.get(loops.STOP_IF)
            _finish_entry(entry, answer.envelope, is_stop=stop_if is not None and loops.holds(stop_if, answer.envelope))

    try:
        if loops.is_loop(entry.body):
            _run_loop(batch, entry, caller, trace, catalog, until)
            return None
        body = _fill_references(batch, entry)
    except InvalidRequestError as error:
        answer = pipeline.reject_call(error, name=entry.name, caller=caller, trace=trace, catalog=catalog)
        entry_claims.finish_entry(entry, answer.envelope)
        return call_events.build_exec_labels(answer)
    answer = pipeline.execute(
        body=body,
        caller=caller,
        trace=trace,
        catalog=catalog,
        until=until,
        key=_derive_idempotency_key(batch, entry),
        store_response=store_response,
        watcher=EntryWatcher(entry),
        batch_entry=entry.pk,
    )
    return call_events.build_exec_labels(answer)


def _run_loop(
    batch: Batch, entry: BatchEntry, caller: Caller, trace: Trace, catalog: Catalog, until: Deadline | None
) -> None:
    """Run the rows of a loop and store its answer. Each row counts as a call of its own.

    Raises InvalidRequestError if there is no list of rows.
    """
    call = LoopCall(
        batch=batch,
        entry=entry,
        caller=caller,
        trace=trace,
        catalog=catalog,
        until=until,
        answers=store.load_envelopes(batch, entry.needs),
        get_delay=lambda envelope: _get_delay(entry, envelope, catalog),
    )
    try:
        answer = loop_runner.run_loop(call)
    except loop_runner.TryLater as later:
        leases.extend(entry, later.delay)
    else:
        _finish_entry(entry, answer.envelope, is_stop=answer.is_stopped)


def _finish_entry(entry: BatchEntry, envelope: Mapping[str, Any], *, is_stop: bool) -> None:
    """Store the envelope of an exec entry and, if its stop_if held, close the entries that have not started."""
    if not is_stop:
        entry_claims.finish_entry(entry, envelope)
        return
    with transaction.atomic():
        entry_claims.finish_entry(entry, envelope)
        states = store.load_entry_states(entry.batch)
        close_entries(entry.batch, {each.index: "stopped" for each in states if each.state == State.PENDING})


def _get_delay(entry: BatchEntry, envelope: Mapping[str, Any], catalog: Catalog) -> timedelta | None:
    """Return the time after which a call can be run again with more to say; None if its answer stands."""
    reason = None if envelope["ok"] else envelope["error"]["details"]["reason"]
    if reason == "unavailable" and entry.attempts < entry_claims.MAX_ATTEMPTS:  # the database was down, but is back
        return DATABASE_GRACE
    if reason == "in_progress" and 1 < entry.attempts < entry_claims.MAX_ATTEMPTS:  # by the previous attempt
        return _get_grace(entry, catalog)
    return None


class EntryWatcher:
    """Shows the progress of a running entry in its row, and learns there that its batch was cancelled.

    The thread gives its connection back after each query, since it waits for an upstream.
    """

    def __init__(self, entry: BatchEntry) -> None:
        self._entry = entry

    def show_progress(self, progress: Mapping[str, Any]) -> None:
        """Store what the upstream reports."""
        with suppress(*store.DATABASE_DOWN_ERRORS), return_connection_after():
            held = BatchEntry.objects.filter(pk=self._entry.pk, holder=self._entry.holder)
            held.update(progress=dict(progress))

    def is_cancelled(self) -> bool:
        """Return whether the batch was cancelled."""
        with suppress(*store.DATABASE_DOWN_ERRORS), return_connection_after():
            return Batch.objects.filter(pk=self._entry.batch_id, cancelled_at__isnull=False).exists()
        return False


def _get_grace(entry: BatchEntry, catalog: Catalog) -> timedelta:
    """Return the time after which the outcome of an attempt that started before now is known."""
    op = catalog.find_op(entry.name)
    return timedelta(milliseconds=op.timeout_ms if op else 0) + remote_write.STORE_GRACE


def _derive_idempotency_key(batch: Batch, entry: BatchEntry) -> str:
    """Return the idempotency key of an entry that was sent without one: two runs of one entry take effect once."""
    return sha256(f"{batch.key or batch.pk}\x00{entry.index}".encode()).hexdigest()


def _fill_references(batch: Batch, entry: BatchEntry) -> dict[str, Any]:
    """Return the body of an entry's call, with its references filled in.

    Raises InvalidRequestError if a value is missing or not valid JSON.
    """
    body = {name: value for name, value in entry.body.items() if name not in loops.OWN_FIELDS}
    args = body.get("args")
    if not entry.needs or not args:
        return body
    try:
        filled_args = references.resolve_references(
            args, store.load_envelopes(batch, entry.needs), most_bytes=settings.GATEWAY_BODY_MAX_BYTES
        )
    except references.UnresolvedReference as missing:
        raise InvalidRequestError(str(missing), reason="result_missing", field_errors=missing.errors) from None
    body["args"] = filled_args
    try:
        json_text.check_value(body)
    except json_text.NotStrictJSON as error:
        raise InvalidRequestError(f"After its references were resolved: {error}", reason=error.code) from None
    return body


def _load_catalog(batch: Batch) -> Catalog:
    try:
        return cache.get_catalog(batch.release)
    except (Release.DoesNotExist, cache.CorruptRelease, cache.WithdrawnRelease):
        raise InternalError(
            "The release of the batch cannot be loaded. Nothing was done; send a new batch.",
            status=503,
            reason="release_gone",
        ) from None


def _load_caller(batch: Batch) -> Caller:
    """Return the caller who sent the batch, with the key's current rights.

    Raises PermissionDeniedError if the key is not valid, InternalError if the release of its agent is gone.
    """
    key = key_verification.get_by_id(batch.api_key_id) if batch.api_key_id else None
    if key is None or (batch.subject and not key.may_act_for(batch.subject)):
        raise PermissionDeniedError(
            "The API key that sent this batch is no longer valid. Nothing was done.", reason="key_revoked"
        )
    headers = {name: value for name, value in batch.caller.items() if name != tracing.HEADER}
    context, routing = UserContext(**headers.pop("context")), Routing(**headers.pop("served", {}))
    agent_name = headers.pop("agent", "")
    agent = find_agent(_load_catalog(batch), agent_name) if agent_name else None
    return Caller(key=key, subject=batch.subject, context=context, routing=routing, agent=agent, **headers)
