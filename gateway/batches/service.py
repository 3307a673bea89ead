"""What the doors call: take a batch, wait for it, tell of it, cancel it."""

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

PATIENCE = 0.1  # seconds that workers have to take an entry before the waiting thread does
STANDSTILL = 1.0  # seconds without a beginning or an end after which all the threads of a batch may be gone
BREATH = 0.005  # seconds in which entries that end together are seen together
LOOKS = (0.01, 0.1)  # seconds between two looks at what other processes did: at first, and at most
HELD_ANSWERS = 2  # that a process holds back at once: its threads are few
LONGEST_WAIT = 20  # seconds that it holds one back

DEGRADED = (
    "degraded_sequential: no worker took the entries in time, so {count} of {all} ran one after another. Their results "
    "are the same."
)

log = logging.getLogger(__name__)
State = BatchEntry.State
_held = BoundedSemaphore(HELD_ANSWERS)


def submit(body: dict[str, Any], caller: Caller, trace: Trace, *, in_background: bool) -> dict[str, Any]:
    """Take a batch and return its answer: as it stands in the background, else once it is done or its time is over.

    Raises Invalid for a malformed body, Conflict for a key that was used for another one, catalogs.NothingLive.
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
        log.warning("batch %s cannot be told of, trace %s\n%s", batch.pk, trace.id, faults.told(error))
        raise _untold(batch) from None


def attend(batch: Batch, until: Deadline) -> int:
    """Wait until a batch is done or the time is over, and run what no worker takes. Returns how many were run here.

    A database that goes away meanwhile is waited for: what ran then is found by its rows.
    """
    own = 0
    while time.monotonic() < until.at:
        try:
            return own + _attended(batch, until)
        except store.AWAY as error:
            log.info("batch %s waits for the database\n%s", batch.pk, faults.told(error))
            connection.close()
            time.sleep(LOOKS[1])
    return own


def _attended(batch: Batch, until: Deadline) -> int:
    patience = 0.0 if batch.mode == Batch.Mode.SEQUENTIAL else PATIENCE
    own, look, since = 0, LOOKS[0], time.monotonic()
    seen: list[str] = []
    others = (0, 0)  # entries that somebody else has begun, and ended
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
    """Return how far a batch is; `wait` holds the answer so many seconds, until something changes.

    Raises Missing, Denied where the key may not be told.
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
    """Cancel what has not begun. Raises as `tell` does, before anything is cancelled."""
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
            "There is no such batch, or its results are past their time. Send the calls again.", reason="unknown_batch"
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
        f"The batch was taken, and its answer cannot be read now. Do not send it again: batches/{batch.pk} tells how "
        "it ended.",
        status=503,
        reason="unavailable",
        details={"batch_id": str(batch.pk)},
        headers={"Retry-After": "1"},
    )


def _leave(batch: Batch) -> None:
    """Close what nobody has begun, or have workers go on: a batch that was sent into the background has more time."""
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
