"""Background work of every process: recover abandoned batches.

The poller thread calls it. Every change is an update that only one process can win.
"""

import logging
import threading
import time

from django.db import connection

from core import logs
from core.background import leases
from gateway.batches import broker, entry_claims, entry_runner, responses, runner, store
from gateway.contracts.envelopes import Trace
from gateway.contracts.errors import InternalError
from gateway.execution.stages import Superseded
from gateway.models import Batch, BatchEntry

INTERVAL = 2.0  # seconds

log = logging.getLogger(__name__)

is_worker = False  # whether this process has threads that run entries
_next = 0.0
_helper: threading.Thread | None = None


def sweep_when_due() -> None:
    """Look every two seconds for entries whose runner died and for batches that no worker knows about.

    One query if no batch is open, four if there is nothing to do.
    """
    global _next
    if time.monotonic() < _next:
        return
    _next = time.monotonic() + INTERVAL
    if store.has_open_entries():
        sweep_batches()
        if is_worker:
            start_helper()


def sweep_batches() -> None:
    """Recover entries of dead runners, close overdue entries, and wake workers for pending ones."""
    for entry in entry_claims.find_lost_entries():
        _recover_entry(entry)
    for batch in store.find_overdue():
        pending = [each.index for each in store.load_entry_states(batch) if each.state == BatchEntry.State.PENDING]
        entry_runner.close_entries(batch, dict.fromkeys(pending, "too_late"))
    for batch in store.find_unnotified():
        runner.wake_workers(batch)


def start_helper() -> None:
    """Start a thread that runs pending batches, if this worker gets no messages and has a free thread.

    So batches continue, more slowly, while the broker is down, has lost messages or does not deliver to this worker.
    """
    global _helper
    is_free = leases.count_kept(BatchEntry) < broker.get_thread_count() and not (_helper and _helper.is_alive())
    if is_free and broker.is_silent() and store.find_stalled():
        _helper = threading.Thread(
            target=_run_stalled_batches, name="helper"
        )  # not a daemon: shutdown waits for its entry
        _helper.start()


def _run_stalled_batches() -> None:
    try:
        log.warning("batch.helper_started reason=no_messages")
        has_run = [True]
        while any(has_run):
            has_run = [runner.run_turn(batch.pk, hands_over=False) for batch in store.find_stalled()]
    except Exception as error:
        log.warning("batch.helper_failed\n%s", logs.format_safely(error))
    finally:
        connection.close()


def _recover_entry(entry: BatchEntry) -> None:
    """Wake a worker to run an entry again: its transaction was rolled back when its runner died.

    After too many attempts the entry fails instead.
    """
    batch: Batch = entry.batch
    if entry.attempts < entry_claims.MAX_ATTEMPTS:
        broker.wake_workers(batch, 1)
        return
    error = InternalError(
        f"The process that ran this entry crashed {entry.attempts} times; tell the administrator.",
        reason="runner_lost",
    )
    try:
        entry_claims.finish_entry(entry, responses.build_entry_error(batch, entry, error, Trace(batch.trace_id)))
    except Superseded:
        return
    runner.continue_batch(batch, after=entry.index)
