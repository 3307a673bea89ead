"""Telling workers that a batch waits, through Celery's broker, and waiting for what they did.

A message only wakes a thread for a batch: the rows are the work, and what no message tells of is found by the sweep. So
nobody waits for the broker.
One thread a process sends; where the broker does not take a message in time the queue counts as down, and whoever
waits for a batch runs it by himself.
"""

import logging
import threading
import time
from collections import deque
from uuid import UUID

from celery import current_app
from django.conf import settings

from core import faults
from gateway.models import Batch

log = logging.getLogger(__name__)

TASK = "gateway.batches.work"  # gateway/tasks.py; by name, for it imports what sends
WAITING = 10_000  # messages at most in this process; what is more is found by the sweep
SLOW = 0.3  # seconds that sending may take before the queue counts as down
RETRY = 2.0  # seconds until the broker is tried again after it failed
SILENCE = 3.0  # seconds after which a worker with nothing to do looks for itself

_changed = threading.Condition()
_heard_at = 0.0


def threads() -> int:
    """Return how many threads a worker has, which is also how many one batch gets of all workers."""
    count: int = settings.CELERY_WORKER_CONCURRENCY
    return count


def wake(batch: Batch, count: int) -> None:
    """Have so many messages sent, each for a thread, but no more than a batch gets. Never waits and never raises."""
    for _ in range(min(count, threads())):
        _sender.put(batch.pk, batch.trace_id)


def heard() -> None:
    """Note that a message has come to this worker."""
    global _heard_at
    _heard_at = time.monotonic()


def is_silent() -> bool:
    """Whether no message has come to this worker for some time."""
    return time.monotonic() - _heard_at > SILENCE


def is_down() -> bool:
    """Whether messages cannot be sent now, as far as this process knows."""
    return _sender.is_down()


def notice() -> None:
    """Wake whoever waits in this process for an entry to end."""
    with _changed:
        _changed.notify_all()


def wait(seconds: float) -> bool:
    """Wait until an entry ended in this process, or so long. Returns whether one did."""
    with _changed:
        return _changed.wait(seconds)


class _Sender:
    """Messages on their way to the broker."""

    def __init__(self) -> None:
        self._messages: deque[tuple[UUID, str]] = deque(maxlen=WAITING)
        self._ready = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._sending_since: float | None = None
        self._failed_at = 0.0

    def put(self, id: UUID, trace_id: str) -> None:
        self._messages.append((id, trace_id))
        if self._thread is None or not self._thread.is_alive():  # also after a fork, which copies no threads
            self._start()
        self._ready.set()

    def is_down(self) -> bool:
        now, since = time.monotonic(), self._sending_since
        return now - self._failed_at < RETRY or (since is not None and now - since > SLOW)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="queue", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._ready.wait():
            self._ready.clear()
            while self._messages:
                self._send(*self._messages.popleft())

    def _send(self, id: UUID, trace_id: str) -> None:
        if time.monotonic() - self._failed_at < RETRY:
            return  # the sweep will tell of it
        self._sending_since = time.monotonic()
        try:
            told = {"batch_id": str(id), "trace_id": trace_id}
            current_app.send_task(TASK, kwargs=told, retry=False, ignore_result=True)
            self._failed_at = 0.0
        except Exception as error:  # each broker has errors of its own
            if not self._failed_at:
                log.warning("the broker takes no messages; batches wait for the sweep\n%s", faults.told(error))
            self._failed_at = time.monotonic()
        finally:
            self._sending_since = None


_sender = _Sender()
