"""Submit a batch, wait for it, return its status, cancel it, or reopen it with a confirmation."""

import logging
import time
from datetime import timedelta
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from core import logs
from core.database.deadlines import Deadline
from core.text import json_text
from gateway.access import key_verification, release_routing
from gateway.access.request_context import Caller
from gateway.batches import broker, entry_runner, responses, runner, scheduling, store
from gateway.contracts import user_questions
from gateway.contracts.envelopes import EnvelopeResponse, Trace
from gateway.contracts.errors import InternalError, NotFoundError
from gateway.execution.confirmation import has_token
from gateway.models import Batch, BatchEntry

State = BatchEntry.State
Outcome = BatchEntry.Outcome
CONFIRMATION_REQUIRED, INPUT_REQUIRED = "confirmation_required", user_questions.REASON
# Reasons of entries that may run after an earlier one has succeeded.
DEPENDENT_REASONS = frozenset({"skipped", "dependency_failed"})
REOPENED: dict[str, Any] = {
    "state": State.PENDING,
    "outcome": "",
    "answer": "",
    "progress": None,
    "finished_at": None,
    "attempts": 0,
}
WORKER_HEAD_START = 0.1  # seconds that workers have to claim an entry before the waiting request runs it
STANDSTILL_SECONDS = 1.0  # seconds in which no entry starts or ends, after which all workers of a batch may be gone
GATHER_SECONDS = 0.005  # seconds to wait so that entries ending together are seen in one query
POLL_INTERVALS = (0.01, 0.1)  # seconds between polls for what other processes did: first and maximum
BUSY_POLL_INTERVAL = 0.05  # maximum while entries start and end, and some have not started
MAX_WAITING_REQUESTS = 2  # status requests that may wait in a process at a time: it has few threads
MAX_WAIT_SECONDS = 20  # seconds that a status request may wait
DEGRADED_WARNING = (
    "degraded_sequential: no worker was free in time, so {count} of {all} entries ran one after another. Their results "
    "are the same."
)
log = logging.getLogger(__name__)
_waiting_slots = BoundedSemaphore(MAX_WAITING_REQUESTS)


def reopen_entries(batch: Batch, caller: Caller, *, runs_for: timedelta) -> int:
    """Reset entries that required confirmation, and those that depend on them. Return how many required it.

    Entries that succeeded stay as they are. The caller's token confirms one entry; any other one requires confirmation
    again, with its own token. Entries that the caller's key cannot run are not reset.
    """
    with transaction.atomic():
        locked = Batch.objects.select_for_update().get(pk=batch.pk)  # a second request with the same token waits
        unsuccessful = locked.entries.filter(state=State.DONE).exclude(outcome=Outcome.SUCCEEDED)
        unconfirmed = [
            row
            for row in unsuccessful
            if CONFIRMATION_REQUIRED in _get_reasons(row) and responses.may_read(row.type, row.name, caller).allowed
        ]
        if not unconfirmed or locked.cancelled_at:
            return 0
        to_reopen = [*unconfirmed, *(row for row in unsuccessful if DEPENDENT_REASONS & _get_reasons(row))]
        locked.entries.filter(pk__in=[row.pk for row in to_reopen]).update(**REOPENED)
        at = store.get_database_time()
        Batch.objects.filter(pk=batch.pk).update(
            api_key=caller.key.id, caller=store.serialize_headers(caller), runs_until=at + runs_for, woken_at=at
        )
    return len(unconfirmed)


def store_late_answer(entry_id: int, answer: EnvelopeResponse) -> None:
    """Replace the answer of an entry that asked its end user, and run those that depend on it, if it succeeded."""
    with transaction.atomic():
        entry = BatchEntry.objects.select_related("batch").filter(pk=entry_id).first()
        if entry is None:
            return  # the batch has expired
        batch = Batch.objects.select_for_update().get(pk=entry.batch_id)
        entry.refresh_from_db()
        if entry.state != State.DONE or entry.outcome == Outcome.SUCCEEDED or INPUT_REQUIRED not in _get_reasons(entry):
            return
        has_succeeded = answer.envelope["ok"]
        batch.entries.filter(pk=entry.pk).update(
            outcome=Outcome.SUCCEEDED if has_succeeded else Outcome.FAILED,
            answer=json_text.dump(answer.envelope).decode(),
        )
        if not has_succeeded or batch.cancelled_at:
            return
        closed = batch.entries.filter(state=State.DONE).exclude(outcome=Outcome.SUCCEEDED)
        dependent = [row.pk for row in closed if DEPENDENT_REASONS & _get_reasons(row)]
        batch.entries.filter(pk__in=dependent).update(**REOPENED)
        at = store.get_database_time()
        runs_until = at + timedelta(seconds=settings.GATEWAY_BATCH_BACKGROUND_SECONDS)
        Batch.objects.filter(pk=batch.pk).update(runs_until=runs_until, woken_at=at)
    if dependent:
        runner.wake_workers(batch)


def _get_reasons(row: BatchEntry) -> set[str]:
    """Return why an entry failed: of a loop, also why each row did."""
    answer = json_text.load(row.answer)
    failed = [each for each in (answer, *answer.get("items", ())) if not each["ok"]]
    return {each["error"]["details"]["reason"] for each in failed}


def submit(body: dict[str, Any], caller: Caller, trace: Trace, *, in_background: bool) -> dict[str, Any]:
    """Accept a batch. Return its status if it runs in the background, else its results when done or out of time.

    Raises InvalidRequestError for a malformed body, ConflictError if the key was used for another body,
    cache.NoLiveRelease.
    """
    plan = scheduling.parse_batch(body, key=caller.idempotency_key)
    catalog = release_routing.get_catalog(caller.routing)
    trace.release = catalog.version
    seconds = settings.GATEWAY_BATCH_BACKGROUND_SECONDS if in_background else settings.GATEWAY_BATCH_SECONDS
    runs_for = timedelta(seconds=seconds)
    batch, is_new = store.create_batch(plan, caller, catalog, trace_id=trace.id, runs_for=runs_for)
    trace.release = batch.release
    runs = len(plan.entries) if is_new else 0
    if not is_new and has_token(caller):
        runs = reopen_entries(batch, caller, runs_for=runs_for)
    key_verification.charge_calls(caller.key, max(0, runs - 1))
    if runs and (in_background or batch.mode == Batch.Mode.PARALLEL):
        runner.wake_workers(batch)
    if in_background:
        return responses.build_status(batch, caller, trace, replayed=not runs)
    try:
        until = Deadline.after(milliseconds=settings.GATEWAY_BATCH_SECONDS * 1000)
        own_count = wait_and_run(batch, until)
        if time.monotonic() >= until.at:
            _close_or_continue(batch)
        return responses.build_results(
            batch, caller, trace, warnings=_build_degraded_warnings(batch, own_count), replayed=not runs
        )
    except store.DATABASE_DOWN_ERRORS as error:
        log.warning("batch.results_unreadable batch=%s trace=%s\n%s", batch.pk, trace.id, logs.format_safely(error))
        raise _build_unreadable_error(batch) from None


def wait_and_run(batch: Batch, until: Deadline) -> int:
    """Wait until a batch is done or `until` has passed, and run entries that no worker claims. Return their number.

    If the database becomes unavailable, wait for it: afterwards the rows show what has run.
    """
    own_count = 0
    while time.monotonic() < until.at:
        try:
            return own_count + _poll_until_done(batch, until)
        except store.DATABASE_DOWN_ERRORS as error:
            log.info("batch.waiting_for_database batch=%s\n%s", batch.pk, logs.format_safely(error))
            connection.close()
            time.sleep(POLL_INTERVALS[1])
    return own_count


def _poll_until_done(batch: Batch, until: Deadline) -> int:
    patience = 0.0 if batch.mode == Batch.Mode.SEQUENTIAL else WORKER_HEAD_START
    own_count, interval, changed_at = 0, POLL_INTERVALS[0], time.monotonic()
    seen_states: list[str] = []
    others_progress = (0, 0)  # entries that others have started, and ended
    while time.monotonic() < until.at:
        entries = store.load_entry_states(batch)
        states = [each.state for each in entries]
        if set(states) == {State.DONE}:
            break
        if states != seen_states:  # it may end soon, but not before its last entry has started
            seen_states = states
            interval = min(interval, BUSY_POLL_INTERVAL) if State.PENDING in states else POLL_INTERVALS[0]
        progress = (len(states) - states.count(State.PENDING) - own_count, states.count(State.DONE) - own_count)
        if progress != others_progress:
            others_progress, changed_at = progress, time.monotonic()
        may_run = runner.settle_batch(batch, entries)
        allowed_idle = (
            patience
            if scheduling.count_running(entries) < broker.get_thread_count()
            else max(patience, STANDSTILL_SECONDS)
        )
        is_due = broker.is_down() or time.monotonic() - changed_at >= allowed_idle
        if is_due and (entry := runner.run_next_entry(batch, may_run, until=until)):
            own_count += 1
            if batch.mode == Batch.Mode.PARALLEL:
                runner.continue_batch(batch, after=entry.index)
            continue
        if broker.wait_for_entry(min(interval, max(0.0, until.at - time.monotonic()))):
            time.sleep(GATHER_SECONDS)
        interval = min(interval * 1.3, POLL_INTERVALS[1])
    return own_count


def get_status(id: UUID, caller: Caller, trace: Trace, *, wait: float = 0.0) -> dict[str, Any]:
    """Return the status of a batch; `wait` is how many seconds to wait for a change.

    Raises NotFoundError for an unknown batch, PermissionDeniedError if the key may not read its results.
    """
    batch = _get_batch(id, caller)
    trace.release = batch.release
    if wait and _waiting_slots.acquire(blocking=False):
        try:
            _wait_for_change(batch, time.monotonic() + wait)
        finally:
            _waiting_slots.release()
    return responses.build_status(batch, caller, trace)


def cancel(id: UUID, caller: Caller, trace: Trace) -> dict[str, Any]:
    """Cancel what has not started, and tell what runs to stop: loops before their next row, upstreams if they can.

    Raises NotFoundError for an unknown batch, PermissionDeniedError if the key may not read its results, before
    anything is cancelled.
    """
    batch = _get_batch(id, caller)
    trace.release = batch.release
    responses.build_status(batch, caller, trace)
    is_running = any(each.state == State.RUNNING for each in store.load_entry_states(batch))
    if entry_runner.close_entries(batch, dict.fromkeys(_find_pending(batch), "cancelled")) or is_running:
        store.mark_cancelled(batch, at=timezone.now())
    return responses.build_status(batch, caller, trace)


def _get_batch(id: UUID, caller: Caller) -> Batch:
    batch = store.find_batch(id, caller)
    if batch is None:
        raise NotFoundError(
            "The batch does not exist, or it has expired. Send the calls again.", reason="unknown_batch"
        )
    return batch


def _wait_for_change(batch: Batch, until: float) -> None:
    before = [each.state for each in store.load_entry_states(batch)]
    now, interval = before, POLL_INTERVALS[0]
    while now == before and set(now) != {State.DONE} and time.monotonic() < until:
        broker.wait_for_entry(min(interval, max(0.0, until - time.monotonic())))
        interval = min(interval * 1.5, POLL_INTERVALS[1])
        now = [each.state for each in store.load_entry_states(batch)]


def _build_unreadable_error(batch: Batch) -> InternalError:
    return InternalError(
        f"The batch was accepted, but its results cannot be read now. Do not send it again: batches/{batch.pk} shows "
        "how it ended.",
        status=503,
        reason="unavailable",
        details={"batch_id": str(batch.pk)},
        headers={"Retry-After": "1"},
    )


def _close_or_continue(batch: Batch) -> None:
    """Close the entries that have not started. If the batch still has time, wake workers instead.

    A batch that was sent to the background earlier has more time than a request that waits for it.
    """
    if store.is_overdue(batch):
        entry_runner.close_entries(batch, dict.fromkeys(_find_pending(batch), "too_late"))
    else:
        runner.wake_workers(batch)


def _find_pending(batch: Batch) -> list[int]:
    return [each.index for each in store.load_entry_states(batch) if each.state == State.PENDING]


def _build_degraded_warnings(batch: Batch, own_count: int) -> list[str]:
    if batch.mode == Batch.Mode.SEQUENTIAL or own_count < 2:
        return []
    return [DEGRADED_WARNING.format(count=own_count, all=batch.entries.count())]
