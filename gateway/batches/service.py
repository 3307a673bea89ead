"""The service that views call: submit a batch, wait for it, return its status, cancel it."""

import logging
import time
from datetime import timedelta
from threading import BoundedSemaphore
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from core import faults
from core.deadlines import Deadline
from gateway import serving, throttling
from gateway.batches import agreement, answers, plans, queue, running, store
from gateway.callers import Caller
from gateway.envelopes import Trace
from gateway.errors import Failed, Missing
from gateway.models import Batch, BatchEntry

PATIENCE = 0.1  # seconds that workers have to claim an entry before the waiting request runs it
STANDSTILL = 1.0  # seconds in which no entry starts or ends, after which all workers of a batch may be gone
BREATH = 0.005  # seconds to wait so that entries ending together are seen in one query
LOOKS = (0.01, 0.1)  # seconds between polls for what other processes did: first and maximum
HELD_ANSWERS = 2  # status requests that a process lets wait at once: it has few threads
LONGEST_WAIT = 20  # seconds that a status request may wait

DEGRADED = (
    "degraded_sequential: no worker was free in time, so {count} of {all} entries ran one after another. Their results "
    "are the same."
)

log = logging.getLogger(__name__)
State = BatchEntry.State
_held = BoundedSemaphore(HELD_ANSWERS)


def submit(body: dict[str, Any], caller: Caller, trace: Trace, *, in_background: bool) -> dict[str, Any]:
    """Accept a batch. Return its status if it runs in the background, else its results when done or out of time.

    Raises Invalid for a malformed body, Conflict if the key was used for another body, catalogs.NothingLive.
    """
    plan = plans.read(body, key=caller.idempotency_key)
    catalog = serving.catalog(caller.served)
    trace.release = catalog.version
    seconds = settings.GATEWAY_BATCH_BACKGROUND_SECONDS if in_background else settings.GATEWAY_BATCH_SECONDS
    runs_for = timedelta(seconds=seconds)
    batch, is_new = store.create(plan, caller, catalog, trace_id=trace.id, runs_for=runs_for)
    trace.release = batch.release
    runs = len(plan.entries) if is_new else 0
    if not is_new and caller.confirmation:
        runs = agreement.reopen(batch, caller, runs_for=runs_for)
    throttling.charge(caller.key, max(0, runs - 1))
    if runs and (in_background or batch.mode == Batch.Mode.PARALLEL):
        running.tell_workers(batch)
    if in_background:
        return answers.status(batch, caller, trace, replayed=not runs)
    try:
        until = Deadline.after(milliseconds=settings.GATEWAY_BATCH_SECONDS * 1000)
        own = attend(batch, until)
        if time.monotonic() >= until.at:
            _leave(batch)
        return answers.final(batch, caller, trace, warnings=_degraded(batch, own), replayed=not runs)
    except store.AWAY as error:
        log.warning("batch.results_unreadable batch=%s trace=%s\n%s", batch.pk, trace.id, faults.told(error))
        raise _untold(batch) from None


def attend(batch: Batch, until: Deadline) -> int:
    """Wait until a batch is done or `until` has passed, and run entries that no worker claims. Return their number.

    If the database becomes unavailable, wait for it: the rows tell afterwards what has run.
    """
    own = 0
    while time.monotonic() < until.at:
        try:
            return own + _attended(batch, until)
        except store.AWAY as error:
            log.info("batch.waiting_for_database batch=%s\n%s", batch.pk, faults.told(error))
            connection.close()
            time.sleep(LOOKS[1])
    return own


def _attended(batch: Batch, until: Deadline) -> int:
    patience = 0.0 if batch.mode == Batch.Mode.SEQUENTIAL else PATIENCE
    own, look, since = 0, LOOKS[0], time.monotonic()
    seen: list[str] = []
    others = (0, 0)  # entries that others have started, and ended
    while time.monotonic() < until.at:
        standings = store.standings(batch)
        states = [each.state for each in standings]
        if set(states) == {State.DONE}:
            break
        if states != seen:
            seen, look = states, LOOKS[0]
        found = (len(states) - states.count(State.PENDING) - own, states.count(State.DONE) - own)
        if found != others:
            others, since = found, time.monotonic()
        may_run = running.settle(batch, standings)
        allowed = patience if plans.at_work(standings) < queue.threads() else max(patience, STANDSTILL)
        is_due = queue.is_down() or time.monotonic() - since >= allowed
        if is_due and (entry := running.run(batch, may_run, until=until)):
            own += 1
            if batch.mode == Batch.Mode.PARALLEL:
                running.go_on(batch, after=entry.index)
            continue
        if queue.wait(min(look, max(0.0, until.at - time.monotonic()))):
            time.sleep(BREATH)
        look = min(look * 1.3, LOOKS[1])
    return own


def tell(id: UUID, caller: Caller, trace: Trace, *, wait: float = 0.0) -> dict[str, Any]:
    """Return the status of a batch; `wait` is how many seconds to wait for a change.

    Raises Missing for an unknown batch, Denied if the key may not read its results.
    """
    batch = _found(id, caller)
    trace.release = batch.release
    if wait and _held.acquire(blocking=False):
        try:
            _until_changed(batch, time.monotonic() + wait)
        finally:
            _held.release()
    return answers.status(batch, caller, trace)


def cancel(id: UUID, caller: Caller, trace: Trace) -> dict[str, Any]:
    """Cancel the entries that have not started and return the status of the batch.

    Raises Missing for an unknown batch, Denied if the key may not read its results, before anything is cancelled.
    """
    batch = _found(id, caller)
    trace.release = batch.release
    answers.status(batch, caller, trace)
    if running.close(batch, dict.fromkeys(_pending(batch), "cancelled")):
        store.note_cancelled(batch, at=timezone.now())
    return answers.status(batch, caller, trace)


def _found(id: UUID, caller: Caller) -> Batch:
    batch = store.find(id, caller)
    if batch is None:
        raise Missing(
            "There is no such batch, or it has expired. Send the calls again.", reason="unknown_batch"
        )
    return batch


def _until_changed(batch: Batch, until: float) -> None:
    before = [each.state for each in store.standings(batch)]
    now, look = before, LOOKS[0]
    while now == before and set(now) != {State.DONE} and time.monotonic() < until:
        queue.wait(min(look, max(0.0, until - time.monotonic())))
        look = min(look * 1.5, LOOKS[1])
        now = [each.state for each in store.standings(batch)]


def _untold(batch: Batch) -> Failed:
    return Failed(
        f"The batch was accepted, but its results cannot be read now. Do not send it again: batches/{batch.pk} shows "
        "how it ended.",
        status=503,
        reason="unavailable",
        details={"batch_id": str(batch.pk)},
        headers={"Retry-After": "1"},
    )


def _leave(batch: Batch) -> None:
    """Close the entries that have not started. If the batch still has time, wake workers instead.

    A batch that was sent to the background earlier has more time than a request that waits for it.
    """
    if store.is_late(batch):
        running.close(batch, dict.fromkeys(_pending(batch), "too_late"))
    else:
        running.tell_workers(batch)


def _pending(batch: Batch) -> list[int]:
    return [each.index for each in store.standings(batch) if each.state == State.PENDING]


def _degraded(batch: Batch, own: int) -> list[str]:
    if batch.mode == Batch.Mode.SEQUENTIAL or own < 2:
        return []
    return [DEGRADED.format(count=own, all=batch.entries.count())]
