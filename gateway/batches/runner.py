"""Run a batch, in a worker or in the request: claim the entries that may run, and wake other threads for the rest."""

import logging
import time
from uuid import UUID

from core import logs, tracing
from core.background import leases
from core.database.deadlines import Deadline
from gateway.batches import broker, entry_claims, entry_runner, scheduling, store
from gateway.batches.scheduling import EntryState
from gateway.execution.stages import Superseded
from gateway.models import Batch, BatchEntry

log = logging.getLogger(__name__)

TURN_SECONDS = 0.5  # seconds after which a worker's thread puts its batch at the end of the queue


def run_turn(id: UUID, *, hands_over: bool = True) -> bool:
    """Run entries of a batch one after another for one turn of a worker's thread. Return whether any entry ran.

    A turn ends with the entry during which its time runs out. With `hands_over` a message for the batch then goes to
    the end of the broker's queue, so that no batch keeps threads from others. Without it, the caller returns on its
    own.
    """
    try:
        batch = store.get_cached_batch(id)
    except Batch.DoesNotExist:
        return False  # it has expired
    turn_ends_at = time.monotonic() + TURN_SECONDS
    may_run, has_run = settle_batch(batch), False
    while entry := run_next_entry(batch, may_run):
        may_run, has_run = continue_batch(batch, after=entry.index, own_count=1), True
        if time.monotonic() < turn_ends_at or may_run == []:
            continue
        if not hands_over:
            break
        if not broker.is_down():
            broker.wake_workers(batch, 1)
            break
    return has_run


def run_next_entry(
    batch: Batch, indexes: list[int] | None = None, *, until: Deadline | None = None
) -> BatchEntry | None:
    """Claim and run the first available entry, only of `indexes` if given. Return it, or None.

    `until` is a deadline in addition to that of the op.
    """
    entry = entry_claims.claim_entry(batch, indexes)
    if entry is None:
        return None
    trace_token = logs.trace.set(batch.trace_id)
    if entry.attempts > 1:
        log.warning("batch.entry_restarted entry=%s attempt=%d", entry, entry.attempts)
    try:
        parent = entry.batch.caller.get(tracing.HEADER, "")
        with leases.keep(entry, entry_claims.LEASE), tracing.continue_trace(parent):
            entry_runner.run_claimed_entry(entry.batch, entry, until)
    except Superseded as error:
        log.warning("batch.entry_superseded batch=%s error=%s", batch.pk, error)
    finally:
        logs.trace.reset(trace_token)
    broker.notify_waiters()
    return entry


def continue_batch(batch: Batch, *, after: int, own_count: int = 0) -> list[int] | None:
    """Settle a batch after an entry has ended, and wake workers for the entries that it unblocked.

    `own_count` is how many of these the caller runs itself. Returns the indexes that may run now; None if all may.
    """
    may_run = settle_batch(batch)
    if may_run is not None:
        needs = store.get_cached_needs(batch.pk)
        unblocked = [index for index in may_run if batch.mode == Batch.Mode.SEQUENTIAL or after in needs[index]]
        broker.wake_workers(batch, len(unblocked) - own_count)
    return may_run


def wake_workers(batch: Batch) -> None:
    """Wake one thread for each entry that may run, up to the free threads of the batch."""
    entries = store.load_entry_states(batch)
    may_run = settle_batch(batch, entries) or ()
    broker.wake_workers(batch, min(len(may_run), broker.get_thread_count() - scheduling.count_running(entries)))


def settle_batch(batch: Batch, entries: list[EntryState] | None = None) -> list[int] | None:
    """Close entries that will never run and return the indexes that may run now; None if all unclaimed entries may."""
    if entries is None:
        if batch.mode == Batch.Mode.PARALLEL and not batch.stop_on_error and not any(store.get_cached_needs(batch.pk)):
            return None
        entries = store.load_entry_states(batch)
    decision = scheduling.decide_next(entries, mode=batch.mode, stop_on_error=batch.stop_on_error)
    if decision.to_close:
        entry_runner.close_entries(batch, decision.to_close)
    return decision.runnable
