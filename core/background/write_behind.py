"""Write-behind buffers: calls queue items, a thread writes them in bulk. No call waits for a write or fails with it."""

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import datetime, timedelta
from multiprocessing.util import Finalize
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, InterfaceError, OperationalError, close_old_connections

from core import logs

log = logging.getLogger(__name__)

INTERVAL = 0.1  # seconds between two writes
MAX_RECENT_KEYS = 50_000
DATABASE_DOWN_ERRORS = (OperationalError, InterfaceError)

Item = TypeVar("Item")
Key = TypeVar("Key", str, tuple[str, ...])


class WriteBehindBuffer(Generic[Item]):
    """A queue of items, which `write` stores, at most `batch_size` at a time.

    Items beyond `capacity` are lost. If a write fails, its items are lost. With `retries` they stay queued if the
    database is down, but not if the items are wrong. Lost items are counted and logged under the buffer's name.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[list[Item]], None],
        *,
        capacity: int,
        batch_size: int = 500,
        retries: bool = False,
    ) -> None:
        self.name, self.capacity, self.batch_size, self.retries = name, capacity, batch_size, retries
        self.lost = 0
        self._write: Callable[[list[Item]], None] = write
        self._items: deque[Item] = deque()
        self._writing = threading.Lock()
        self._is_failing = False
        _buffers.append(self)

    def __len__(self) -> int:
        return len(self._items)

    def put(self, item: Item) -> None:
        """Queue an item, to be written within 100 ms. Never blocks and never raises."""
        if len(self._items) >= self.capacity:
            self.lost += 1
            return
        self._items.append(item)
        if _thread is None or not _thread.is_alive():  # or after a fork, which does not copy threads
            _start_thread()

    def flush(self) -> None:
        """Write all queued items now, in the calling thread."""
        with self._writing:
            while self._items:
                batch = [self._items.popleft() for _ in range(min(self.batch_size, len(self._items)))]
                try:
                    self._write(batch)
                except (DatabaseError, InterfaceError) as error:
                    if self.retries and isinstance(error, DATABASE_DOWN_ERRORS):
                        self._requeue(batch, error)
                        return
                    self._count_lost(batch, error)
                else:
                    self._is_failing = False

    def discard(self) -> None:
        """Drop all queued items."""
        with self._writing:
            self._items.clear()

    def _count_lost(self, batch: list[Item], error: Exception) -> None:
        self.lost += len(batch)
        log.error("%s.lost count=%d total=%d\n%s", self.name, len(batch), self.lost, logs.format_safely(error))

    def _requeue(self, batch: list[Item], error: Exception) -> None:
        self._items.extendleft(reversed(batch))
        if not self._is_failing:  # logged when it begins, not at each try
            self._is_failing = True
            log.error("%s.write_failed queued=%d\n%s", self.name, len(self._items), logs.format_safely(error))


class RecentKeys(Generic[Key]):
    """The keys that this process has written recently. Each is written once, or again after `again_after`.

    It has room for 50,000 keys. A key that it forgot is written again.
    """

    def __init__(self, *, again_after: timedelta | None = None) -> None:
        self._again_after = again_after
        self._times: OrderedDict[Key, datetime] = OrderedDict()
        self._lock = threading.Lock()

    def is_due(self, key: Key, at: datetime) -> bool:
        """Return whether a key should be written."""
        last = self._times.get(key)
        return last is None or (self._again_after is not None and at - last >= self._again_after)

    def add_if_due(self, key: Key, at: datetime) -> bool:
        """Remember a key if it is due, and return whether it was. If two threads have the same key, one gets True."""
        if not self.is_due(key, at):
            return False
        with self._lock:
            if not self.is_due(key, at):
                return False
            self._times[key] = at
            self._times.move_to_end(key)
            while len(self._times) > MAX_RECENT_KEYS:
                self._times.popitem(last=False)
        return True

    def clear(self) -> None:
        """Forget all keys."""
        with self._lock:
            self._times.clear()


def flush_all() -> None:
    """Write the queued items of all buffers now, in the calling thread."""
    for buffer in _buffers:
        buffer.flush()


_buffers: list[WriteBehindBuffer[Any]] = []
_thread: threading.Thread | None = None
_starting = threading.Lock()


def _start_thread() -> None:
    global _thread
    with _starting:
        if _thread is not None and _thread.is_alive():
            return
        _thread = threading.Thread(target=_run_loop, name="write_behind", daemon=True)
        _thread.start()
        # Server workers are multiprocessing children, which run finalizers on SIGTERM, but not atexit.
        Finalize(None, flush_all, exitpriority=10)


def _run_loop() -> None:
    """Write until another thread takes over."""
    pause = threading.Event()
    while not pause.wait(INTERVAL) and threading.current_thread() is _thread:
        if any(_buffers):  # a buffer is true if it holds items
            flush_all()
            close_old_connections()  # give the pooled connection back until the next write
