"""Run entries of a batch, in a worker or in the request: claim, fill in references, run exec or help, store."""

import logging
import time
from hashlib import sha256
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from analytics import events
from analytics.models import OperationEvent
from core import faults, logs, metrics, strictjson
from core.deadlines import Deadline
from gateway import discovery, envelopes, execution, keys, policies, recording, remote
from gateway.batches import holds, plans, queue, references, store
from gateway.batches.plans import Standing
from gateway.callers import Caller, Context
from gateway.calls import Superseded
from gateway.envelopes import Answer, Trace
from gateway.errors import Conflict, Denied, Failed, GatewayError, Invalid
from gateway.models import Batch, BatchEntry
from gateway.serving import Served
from registry import catalogs, help
from registry.catalogs import Catalog
from registry.models import ROOT, Release

log = logging.getLogger(__name__)

TURN = 0.5  # seconds after which a worker's thread puts its batch at the end of the queue

CLOSED = {
    "skipped": "An earlier entry failed, so this one was skipped (stop_on_error). Nothing was done.",
    "dependency_failed": "An entry that this one depends on did not succeed. Nothing was done; fix that one first.",
    "cancelled": "The batch was cancelled before this entry started. Nothing was done.",
    "too_late": "The batch ran out of time before this entry started. Nothing was done; send it again.",
}

running: dict[str, BatchEntry] = {}  # entries that this process runs, by runner; the follower renews their leases


def work(id: UUID, *, hands_over: bool = True) -> bool:
    """Run entries of a batch one after another for one turn of a worker's thread. Return whether any entry ran.

    A turn ends with the entry during which its time runs out. With `hands_over` a message for the batch then goes to
    the end of the broker's queue, so that no batch keeps threads from others. Without it the caller comes back by
    itself.
    """
    try:
        batch = store.known(id)
    except Batch.DoesNotExist:
        return False  # it has expired
    ends = time.monotonic() + TURN
    may_run, has_run = settle(batch), False
    while entry := run(batch, may_run):
        may_run, has_run = go_on(batch, after=entry.index, own=1), True
        if time.monotonic() < ends or may_run == []:
            continue
        if not hands_over:
            break
        if not queue.is_down():
            queue.wake(batch, 1)
            break
    return has_run


def run(batch: Batch, among: list[int] | None = None, *, until: Deadline | None = None) -> BatchEntry | None:
    """Claim and run the first available entry, only of `indexes` if given. Return it, or None.

    `until` is a deadline in addition to that of the op.
    """
    entry = holds.claim(batch, among)
    if entry is None:
        return None
    before = logs.trace.set(batch.trace_id)
    if entry.attempts > 1:
        log.warning("batch.entry_restarted entry=%s attempt=%d", entry, entry.attempts)
    running[entry.runner] = entry
    try:
        _answer(entry.batch, entry, until)
    except Superseded as error:
        log.warning("batch.entry_superseded batch=%s error=%s", batch.pk, error)
    finally:
        del running[entry.runner]
        logs.trace.reset(before)
    queue.notice()
    return entry


def go_on(batch: Batch, *, after: int, own: int = 0) -> list[int] | None:
    """Settle a batch after an entry has ended, and wake workers for the entries that it unblocked.

    `own_count` is how many of these the caller runs itself. Returns the indexes that may run now; None if all may.
    """
    may_run = settle(batch)
    if may_run is not None:
        needs = store.needs(batch.pk)
        lets_run = [index for index in may_run if batch.mode == Batch.Mode.SEQUENTIAL or after in needs[index]]
        queue.wake(batch, len(lets_run) - own)
    return may_run


def tell_workers(batch: Batch) -> None:
    """Wake one thread for each entry that may run, up to the free threads of the batch."""
    standings = store.standings(batch)
    may_run = settle(batch, standings) or ()
    queue.wake(batch, min(len(may_run), queue.threads() - plans.at_work(standings)))


def settle(batch: Batch, standings: list[Standing] | None = None) -> list[int] | None:
    """Close entries that will never run and return the indexes that may run now; None if all unclaimed entries may."""
    if standings is None:
        if batch.mode == Batch.Mode.PARALLEL and not batch.stop_on_error and not any(store.needs(batch.pk)):
            return None
        standings = store.standings(batch)
    found = plans.what_next(standings, mode=batch.mode, stop_on_error=batch.stop_on_error)
    if found.closed:
        close(batch, found.closed)
    return found.runnable


def close(batch: Batch, reasons: dict[int, str]) -> int:
    """Close entries that will not run, as {index: reason}. Return how many of them had not started."""
    rows = BatchEntry.objects.filter(batch=batch, index__in=reasons).only("index", "type", "name")
    answers = {}
    for row in rows:
        reason = reasons[row.index]
        error = Conflict(CLOSED[reason], reason="cancelled" if reason == "too_late" else reason)
        answers[row.index] = refused(batch, row, error, Trace(batch.trace_id))
    closed = holds.close(batch, answers)
    queue.notice()
    return closed


def refused(batch: Batch, entry: BatchEntry, error: GatewayError, trace: Trace) -> dict[str, Any]:
    """Return the error envelope of an entry, by its type. Its help_path is one that the batch's key can read."""
    key = keys.by_id(batch.api_key_id) if batch.api_key_id else None
    if key is not None:
        view = catalogs.live().view(Caller(key).visibility)
        error.help_path = help.readable(view, error.help_path or entry.name or ROOT)
    if entry.type == "help":
        return {"path": entry.name, "ok": False, "error": error.as_dict()}
    return envelopes.failure(entry.name or None, error, envelopes.meta(trace))


def _answer(batch: Batch, entry: BatchEntry, until: Deadline | None) -> None:
    trace = Trace(batch.trace_id, source=OperationEvent.Source.BATCH)
    try:
        catalog, caller = _catalog(batch), _caller(batch)
        if entry.type == "help":
            holds.finish(entry, _help(entry.body, caller, trace, catalog))
        else:
            _exec(batch, entry, caller, trace, catalog, until)
    except GatewayError as error:
        holds.finish(entry, refused(batch, entry, error, trace))
    except (Superseded, *store.AWAY):  # another run stores the result
        raise
    except Exception as error:
        log.error("batch.entry_crashed entry=%s trace=%s\n%s", entry, trace.id, faults.told(error))
        failed = Failed("The entry failed on our side. Its trace id tells the administrator where.")
        holds.finish(entry, refused(batch, entry, failed, trace))
    if trace.told is not None:
        metrics.count_call(trace.told, seconds=trace.elapsed_ms() / 1000)


def _help(body: dict[str, Any], caller: Caller, trace: Trace, catalog: Catalog) -> dict[str, Any]:
    path = body.get("path", "")
    try:
        decision = policies.may_ask(caller)
        if not decision.allowed:
            raise Denied(decision.message, reason=decision.reason)
        found = discovery.ask(body=body, caller=caller, trace=trace, catalog=catalog)
    except GatewayError as error:
        told = error.as_dict()
        events.later(
            recording.event(
                discovery.kind_of(body), caller=caller, trace=trace, name=path[:200], status=error.status, error=told
            )
        )
        return {"path": path, "ok": False, "error": told}
    return {"path": found.path, "ok": True, "result": orjson.loads(found.body)}


def _exec(
    batch: Batch, entry: BatchEntry, caller: Caller, trace: Trace, catalog: Catalog, until: Deadline | None
) -> None:
    def settle(answer: Answer) -> None:
        if 1 < entry.attempts < holds.ATTEMPTS and _is_in_progress(answer):  # probably the previous attempt
            holds.put_off(entry, _longest(entry, catalog))
        else:
            holds.finish(entry, answer.envelope)

    try:
        body = _filled(batch, entry)
    except Invalid as error:
        answer = execution.refuse(error, name=entry.name, caller=caller, trace=trace, catalog=catalog)
        holds.finish(entry, answer.envelope)
        return
    execution.execute(
        body=body, caller=caller, trace=trace, catalog=catalog, until=until, key=_key(batch, entry), settle=settle
    )


def _is_in_progress(answer: Answer) -> bool:
    return not answer.envelope["ok"] and answer.envelope["error"]["details"]["reason"] == "in_progress"


def _longest(entry: BatchEntry, catalog: Catalog) -> int:
    """Return the milliseconds after which the outcome of an attempt that started before now is known."""
    op = catalog.find(entry.name)
    return (op.timeout_ms if op else 0) + int(remote.GRACE.total_seconds() * 1000)


def _key(batch: Batch, entry: BatchEntry) -> str:
    """Return the idempotency key of an entry that was sent without one: two runs of one entry take effect once."""
    return sha256(f"{batch.key or batch.pk}\x00{entry.index}".encode()).hexdigest()


def _filled(batch: Batch, entry: BatchEntry) -> dict[str, Any]:
    """Return an entry's body with its references filled in. Raises Invalid if a value is missing or not valid JSON."""
    args = entry.body.get("args")
    if not entry.needs or not args:
        return dict(entry.body)
    try:
        found = references.resolved(
            args, store.envelopes(batch, entry.needs), most_bytes=settings.GATEWAY_BODY_MAX_BYTES
        )
    except references.Missing as missing:
        raise Invalid(str(missing), reason="result_missing", field_errors=missing.errors) from None
    body = {**entry.body, "args": found}
    try:
        strictjson.check(body)
    except strictjson.NotStrictJSON as error:
        raise Invalid(f"With its references filled in: {error}", reason=error.code) from None
    return body


def _catalog(batch: Batch) -> Catalog:
    try:
        return catalogs.get(batch.release)
    except (Release.DoesNotExist, catalogs.CorruptRelease, catalogs.WithdrawnRelease):
        raise Failed(
            "The release of the batch cannot be loaded. Nothing was done; send a new batch.",
            status=503,
            reason="release_gone",
        ) from None


def _caller(batch: Batch) -> Caller:
    """Return the caller who sent the batch, with the key's current rights. Raises Denied if the key is not valid."""
    key = keys.by_id(batch.api_key_id) if batch.api_key_id else None
    if key is None or (batch.subject and not key.may_speak_for(batch.subject)):
        raise Denied(
            "The API key that sent this batch is no longer valid. Nothing was done.", reason="key_revoked"
        )
    told = dict(batch.caller)
    context, served = Context(**told.pop("context")), Served(**told.pop("served", {}))
    return Caller(key=key, subject=batch.subject, context=context, served=served, **told)
