"""Background work of every process: renew the leases of its entries, and recover abandoned batches.

The follower thread calls it. Every change is an update that only one process can win.
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
    """Renew leases and sweep, every two seconds. Four queries if nothing is found."""
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
    """Recover entries of dead runners, close overdue entries, and wake workers for pending ones."""
    for entry in holds.lost():
        _take_over(entry)
    for batch in store.late():
        pending = [each.index for each in store.standings(batch) if each.state == BatchEntry.State.PENDING]
        running.close(batch, dict.fromkeys(pending, "too_late"))
    for batch in store.forgotten():
        running.tell_workers(batch)


def help_out() -> None:
    """Start a thread that runs pending batches, if this worker gets no messages and has a free thread.

    So batches continue, more slowly, while the broker is down, has lost messages or does not deliver to this worker.
    """
    global _helper
    is_free = len(running.running) < queue.threads() and not (_helper and _helper.is_alive())
    if is_free and queue.is_silent() and store.neglected():
        _helper = threading.Thread(target=_help, name="helper")  # not a daemon: shutdown waits for its entry
        _helper.start()


def _help() -> None:
    try:
        log.warning("batch.helper_started reason=no_messages")
        has_run = [True]
        while any(has_run):
            has_run = [running.work(batch.pk, hands_over=False) for batch in store.neglected()]
    except Exception as error:
        log.warning("batch.helper_failed\n%s", faults.told(error))
    finally:
        connection.close()


def _take_over(entry: BatchEntry) -> None:
    """Wake a worker to run an entry again: its transaction was rolled back when its runner died.

    After too many attempts the entry fails instead.
    """
    batch: Batch = entry.batch
    if entry.attempts < holds.ATTEMPTS:
        queue.wake(batch, 1)
        return
    error = Failed(
        f"The process that ran this entry crashed {entry.attempts} times; tell the administrator.",
        reason="runner_lost",
    )
    try:
        holds.finish(entry, running.refused(batch, entry, error, Trace(batch.trace_id)))
    except Superseded:
        return
    running.go_on(batch, after=entry.index)
