"""What every process does beside its calls: holding on to the entries that it runs, and finding those left lying.

The follower thread calls it. Whatever is found is changed by an update that only one process can win.
"""

import logging
import threading
import time

from django.db import connection

from core import faults
from gateway.batches import holds, queue, running, store
from gateway.calls import Superseded
from gateway.envelopes import Trace
from gateway.errors import Failed
from gateway.models import Batch, BatchEntry

EVERY = 2.0  # seconds

log = logging.getLogger(__name__)

is_worker = False  # whether this process has threads that run entries
_next = 0.0
_helper: threading.Thread | None = None


def follow() -> None:
    """Hold on to what runs here and sweep, every two seconds. Four queries where nothing is found."""
    global _next
    if time.monotonic() < _next:
        return
    _next = time.monotonic() + EVERY
    if running.running:
        holds.hold(list(running.running))
    sweep()
    if is_worker:
        help_out()


def sweep() -> None:
    """Give away what dead runners held, close what is too late, and wake workers for what waits."""
    for entry in holds.lost():
        _take_over(entry)
    for batch in store.late():
        pending = [each.index for each in store.standings(batch) if each.state == BatchEntry.State.PENDING]
        running.close(batch, dict.fromkeys(pending, "too_late"))
    for batch in store.forgotten():
        running.tell_workers(batch)


def help_out() -> None:
    """Have a thread of this worker run batches that wait, where no message comes and a thread is free.

    So it goes on, more slowly, while the broker is away, and where it has lost messages or gives a worker none.
    """
    global _helper
    is_free = len(running.running) < queue.threads() and not (_helper and _helper.is_alive())
    if is_free and queue.is_silent() and store.neglected():
        _helper = threading.Thread(target=_help, name="helper")  # no daemon: a stop waits for what it runs
        _helper.start()


def _help() -> None:
    try:
        log.warning("batches wait and no message comes; this worker runs them by itself")
        has_run = [True]
        while any(has_run):
            has_run = [running.work(batch.pk, hands_over=False) for batch in store.neglected()]
    except Exception as error:
        log.warning("a worker's help failed; the next sweep goes on\n%s", faults.told(error))
    finally:
        connection.close()


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
        holds.finish(entry, running.refused(batch, entry, error, Trace(batch.trace_id)))
    except Superseded:
        return
    running.go_on(batch, after=entry.index)
