"""Wake workers for a batch through Celery's broker, and wait for entries to end in this process.

A message only wakes a thread: the rows are the work, and the sweep finds work whose message was lost. So no request
waits for the broker. One thread per process sends messages. If the broker does not accept a message in time, the queue
counts as down, and the request that waits for a batch runs its entries itself. Without a broker, threads of the process
take the messages directly.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any
from uuid import UUID

from celery import current_app
from django.conf import settings

from core import logs
from core.background import task_queue
from gateway.models import Batch

log = logging.getLogger(__name__)

TASK_NAME = "gateway.batches.work"  # in gateway/batches/tasks.py; by name, to avoid an import cycle
MAX_UNSENT = 10_000  # maximum of unsent messages in this process; the sweep finds the rest
THREADS_PER_MESSAGE = 4  # that a message wakes in the worker that gets it; a message costs as much CPU as an entry
SEND_TIMEOUT = 0.3  # seconds that sending may take before the queue counts as down
RETRY_AFTER = 2.0  # seconds until the broker is tried again after it failed
CHECK_INTERVAL = 5.0  # seconds after which the broker is asked for an answer if no message was sent
SILENCE_TIMEOUT = 3.0  # seconds without a message after which an idle worker looks for work itself

_changed = threading.Condition()
_heard_at = 0.0


def get_thread_count() -> int:
    """Return how many threads a worker has. One batch gets at most as many of all workers together."""
    count: int = settings.CELERY_WORKER_CONCURRENCY
    return count


def wake_workers(batch: Batch, count: int) -> None:
    """Queue messages that wake `count` threads, up to the limit of a batch. Never blocks and never raises."""
    left = min(count, get_thread_count())
    while left > 0:
        threads = min(left, THREADS_PER_MESSAGE)
        _sender.enqueue(batch.pk, batch.trace_id, threads)
        left -= threads


def record_message() -> None:
    """Record that this worker has received a message."""
    global _heard_at
    _heard_at = time.monotonic()


def is_silent() -> bool:
    """Whether this worker has received no message for some time."""
    return time.monotonic() - _heard_at > SILENCE_TIMEOUT


def is_down() -> bool:
    """Whether the broker cannot be reached, as far as this process knows."""
    return _sender.is_down()


def check_when_due() -> None:
    """Check in the background whether the broker responds, if no recent message has shown it."""
    if not settings.EMBEDDED_BROKER:
        _sender.check_when_due()


def has_failed() -> bool:
    """Whether the last message or check did not reach the broker."""
    return _sender.has_failed()


def notify_waiters() -> None:
    """Wake the threads of this process that wait for an entry to end."""
    with _changed:
        _changed.notify_all()


def wait_for_entry(seconds: float) -> bool:
    """Wait until an entry ends in this process, or for `seconds`. Return whether one ended."""
    with _changed:
        return _changed.wait(seconds)


class _MessageSender:
    """Sends messages to the broker from one background thread."""

    def __init__(self) -> None:
        self._messages: deque[dict[str, Any]] = deque(maxlen=MAX_UNSENT)
        self._ready = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._sending_since: float | None = None
        self._failed_at = 0.0
        self._tried_at = 0.0

    def enqueue(self, id: UUID, trace_id: str, threads: int) -> None:
        payload = {"batch_id": str(id), "trace_id": trace_id}
        if settings.EMBEDDED_BROKER:
            for _ in range(threads):
                task_queue.send(TASK_NAME, kwargs=payload)
        else:
            self._messages.append(payload | {"threads": threads})
            self._wake()

    def check_when_due(self) -> None:
        if time.monotonic() - self._tried_at >= CHECK_INTERVAL and self._sending_since is None:
            self._wake()

    def has_failed(self) -> bool:
        since = self._sending_since
        return self._failed_at > 0 or (since is not None and time.monotonic() - since > SILENCE_TIMEOUT)

    def _wake(self) -> None:
        if self._thread is None or not self._thread.is_alive():  # also after a fork, which copies no threads
            self._start()
        self._ready.set()

    def is_down(self) -> bool:
        now, since = time.monotonic(), self._sending_since
        return now - self._failed_at < RETRY_AFTER or (since is not None and now - since > SEND_TIMEOUT)

    def _start(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="queue", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._ready.wait():
            self._ready.clear()
            if not self._messages:
                self._try(_connect)
            while self._messages:
                if time.monotonic() - self._failed_at < RETRY_AFTER:
                    self._messages.clear()  # the sweep will wake workers
                else:
                    self._try(self._send_queued)

    def _send_queued(self) -> None:
        """Send all messages with one producer: to take one from the pool for each costs a third of the time."""
        with current_app.producer_or_acquire() as producer:
            while self._messages:
                self._sending_since = time.monotonic()
                task_queue.send(TASK_NAME, kwargs=self._messages.popleft(), producer=producer)

    def _try(self, reach_broker: Callable[[], object]) -> None:
        self._sending_since = self._tried_at = time.monotonic()
        try:
            reach_broker()
            self._failed_at = 0.0
        except Exception as error:  # each broker has its own errors
            if not self._failed_at:
                log.warning("batch.broker_unavailable\n%s", logs.format_safely(error))
            self._failed_at = time.monotonic()
        finally:
            self._sending_since = None


def _connect() -> None:
    """Connect to the broker and open a channel, for which every kind of broker must answer."""
    with current_app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=1)
        broker.default_channel  # noqa: B018 - reading it opens it


_sender = _MessageSender()
