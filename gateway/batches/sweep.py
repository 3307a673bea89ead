"""What every process does beside its calls: holding on to the entries that it runs, and finding those left lying.

The follower thread calls it. Whatever is found is changed by an update that only one process can win.
"""

import time

from gateway.batches import holds, queue, running, store
from gateway.calls import Superseded
from gateway.envelopes import Trace
from gateway.errors import Failed
from gateway.models import Batch, BatchEntry

EVERY = 2.0  # seconds

_next = 0.0


def follow() -> None:
    """Hold on to what runs here and sweep, every two seconds. Three queries where nothing is found."""
    global _next
    if time.monotonic() < _next:
        return
    _next = time.monotonic() + EVERY
    if running.running:
        holds.hold(list(running.running))
    sweep()


def sweep() -> None:
    """Give away what dead runners held, close what is too late, and wake workers for what waits."""
    for entry in holds.lost():
        _take_over(entry)
    for batch in store.late():
        pending = [each.index for each in store.standings(batch) if each.state == BatchEntry.State.PENDING]
        running.close(batch, dict.fromkeys(pending, "too_late"))
    for batch in store.forgotten():
        queue.wake(batch, len(running.settle(batch, store.standings(batch)) or ()))


def _take_over(entry: BatchEntry) -> None:
    """Have an entry run again, from the beginning: its transaction was undone with its runner."""
    batch: Batch = entry.batch
    if entry.attempts < holds.ATTEMPTS:
        queue.wake(batch, 1)
        return
    error = Failed(
        f"What ran this entry ended {entry.attempts} times before it was done; tell the administrator.",
        reason="runner_lost",
    )
    try:
        holds.finish(entry, running.refused(entry, error, Trace(batch.trace_id)))
    except Superseded:
        return
    running.go_on(batch, after=entry.index)
