"""Write-behind buffers: calls queue items, a thread writes them in bulk. No call waits for a write or fails with it.

What the database does not take within 100 ms goes to disk if a buffer has a spool, so that it outlives the process.
"""

import logging
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from multiprocessing.util import Finalize
from typing import Any, Generic, TypeVar

from django.db import InterfaceError, InternalError, OperationalError, close_old_connections

from core import logs
from core.background.spool import Spool
from core.database.deadlines import limit_waits

log = logging.getLogger(__name__)

# An item is in the database or on disk within 100 ms: the write before it, the pause, and the patience with its own.
INTERVAL = 0.04  # seconds between two writes
PATIENCE = 0.03
WRITE_SECONDS = 10  # in which the database takes a batch, else its connection is given up
EXIT_SECONDS = 5  # for what waits when the process ends
FAILURE_SECONDS = 1.0  # after an error such as that of a disk which cannot be read, before the next try
MAX_RECENT_KEYS = 50_000
# The last one is that of a PostgreSQL which only reads, such as one that is about to take over from another.
DATABASE_DOWN_ERRORS = (OperationalError, InterfaceError, InternalError)

Item = TypeVar("Item")
Key = TypeVar("Key", str, tuple[str, ...])


class WriteBehindBuffer(Generic[Item]):
    """A queue of items, which `write` stores, at most `batch_size` at a time, in order.

    Items beyond `capacity` are lost. If a write fails, its items are lost. With `retries` they stay queued if the
    database is down, but not if the items are wrong. With a `spool`, items that wait are kept on disk, and those that
    other processes have left there are written, too. `rewrite` writes items that waited. Its second argument says
    whether some may be stored: nobody knows this of a write that failed, or of a process that died. `report` is called
    when the numbers of items may have changed. Lost items are counted and logged under the buffer's name.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[list[Item]], None],
        *,
        capacity: int,
        batch_size: int = 500,
        retries: bool = False,
        rewrite: Callable[[list[Item], bool], None] | None = None,
        spool: Spool[Item] | None = None,
        report: Callable[[], None] = lambda: None,
    ) -> None:
        self.name, self.capacity, self.batch_size, self.retries = name, capacity, batch_size, retries
        self.lost = 0
        self.is_full = False  # of items that neither the database nor the disk takes
        self._write: Callable[[list[Item]], None] = write
        self._rewrite: Callable[[list[Item], bool], None] = rewrite or (lambda items, _: write(items))
        self.report: Callable[[], None] = report
        self._spool = spool
        self._items: deque[Item] = deque()
        self._batch: list[Item] = []  # that is being written, and not on disk
        self._batch_end: int | None = None  # of the batch that is being written, on disk
        self._is_failing = self._is_spool_failing = False
        self._forget_threads()
        _buffers.append(self)

    def __len__(self) -> int:
        """Return how many items wait in memory."""
        return len(self._batch) + len(self._items)

    def __bool__(self) -> bool:
        return bool(self._items or self._spool)

    @property
    def spooled_bytes(self) -> int:
        """Size of the items that wait on disk."""
        return len(self._spool or ())

    def put(self, item: Item) -> None:
        """Queue an item, to be written within 100 ms. Never blocks and never raises."""
        if len(self._items) >= self.capacity:
            self.lost += 1
            if not self.is_full:
                self.is_full = True
                log.error("%s.full queued=%d spooled_bytes=%d", self.name, self.capacity, self.spooled_bytes)
            return
        self._items.append(item)
        _wake_thread()

    def flush(self) -> None:
        """Write all items that are queued now, in the calling thread.

        What calls queue meanwhile waits for the next time. To write on until nothing is left would write each single
        item by itself under load, which costs the database twenty times as much.
        """
        with self._writing:
            is_last = False
            while not is_last and (batch := self._take_batch()):
                is_last = not self._spool and len(batch) < self.batch_size
                try:
                    self._write_batch(batch)
                except Exception as error:  # any error: the thread that writes must go on
                    if self.retries and isinstance(error, DATABASE_DOWN_ERRORS):
                        self._put_back(error)
                        return
                    self._count_lost(len(batch), error)
                else:
                    self._is_failing = False
                self._finish_batch()

    def spool(self, *, is_late: bool = False) -> None:
        """Move to disk what waits for a write that takes long or fails. Does nothing without a spool.

        `is_late` says that the thread that writes has not come to the queued items yet, such as for another buffer.
        """
        with self._lock:
            if self._spool is not None and (self._batch or self._spool or (is_late and self._items)):
                self._move_to_disk(self._spool)

    def adopt(self) -> None:
        """Take over what a process that has ended left on disk, and write it soon."""
        with self._lock:
            # Behind a batch that is being written there must be nothing else: it is removed up to its end.
            is_new = self._spool is not None and not self._batch and not self._is_failing and self._spool.adopt()
        if is_new:
            log.info("%s.adopted bytes=%d", self.name, self.spooled_bytes)
            _wake_thread()

    def discard(self) -> None:
        """Drop all queued items."""
        with self._writing, self._lock:
            self._items.clear()
            if self._spool:
                self._spool.clear()
            self._is_failing = self._is_spool_failing = self.is_full = False

    def forget_parent(self) -> None:
        """Leave the items and the file to the parent of this process, which was just forked."""
        self._items.clear()
        self._batch, self._batch_end = [], None
        if self._spool is not None:
            self._spool.leave()
        self._forget_threads()

    def _forget_threads(self) -> None:
        self._writing, self._lock = threading.Lock(), threading.Lock()  # the second one for a moment only

    def _write_batch(self, batch: list[Item]) -> None:
        may_be_stored = self._is_failing or (self._spool is not None and self._spool.is_adopted)
        if may_be_stored or self._batch_end is not None:
            self._rewrite(batch, may_be_stored)
        else:
            self._write(batch)

    def _take_batch(self) -> list[Item]:
        with self._lock:
            while self._spool:
                batch, self._batch_end, unreadable = self._spool.read(self.batch_size)
                self.lost += unreadable
                if batch:
                    return batch
                self._spool.drop(self._batch_end)
            self._batch_end = None
            self._batch = [self._items.popleft() for _ in range(min(self.batch_size, len(self._items)))]
            return self._batch

    def _finish_batch(self) -> None:
        with self._lock:
            if self._batch_end is not None and self._spool is not None:
                self._spool.drop(self._batch_end)
            self._batch, self._batch_end = [], None
            self.is_full = False

    def _put_back(self, error: Exception) -> None:
        with self._lock:
            if self._spool is not None:
                self._move_to_disk(self._spool)
            self._items.extendleft(reversed(self._batch))
            self._batch, self._batch_end = [], None
        if not self._is_failing:  # logged when it begins, not at each try
            self._is_failing = True
            log.error(
                "%s.write_failed queued=%d spooled_bytes=%d\n%s",
                self.name,
                len(self._items),
                self.spooled_bytes,
                logs.format_safely(error),
            )

    def _move_to_disk(self, spool: Spool[Item]) -> None:
        """Move the batch that is being written and all queued items to disk. What it does not take stays in memory."""
        try:
            if self._batch:
                self._batch_end = spool.append(self._batch)
                self._batch = []
            while items := self._peek_at_items():
                spool.append(items)
                for _ in items:
                    self._items.popleft()
        except OSError as error:
            if not self._is_spool_failing:  # logged when it begins
                self._is_spool_failing = True
                log.error("%s.spool_failed queued=%d\n%s", self.name, len(self), logs.format_safely(error))
        else:
            self._is_spool_failing = self.is_full = False

    def _peek_at_items(self) -> list[Item]:
        """Return the next items without taking them. Others are queued meanwhile, which an iterator does not stand."""
        return [self._items[at] for at in range(min(self.batch_size, len(self._items)))]

    def _count_lost(self, count: int, error: Exception) -> None:
        self.lost += count
        log.error("%s.lost count=%d total=%d\n%s", self.name, count, self.lost, logs.format_safely(error))


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


def flush_at_exit() -> None:
    """Write what waits when the process ends, for some seconds. What the database does not take is on disk then."""
    with limit_waits(time.monotonic() + EXIT_SECONDS):
        flush_all()


class _Threads:
    """One thread writes; another one moves to disk what the first one does not get rid of in time.

    Both sleep while nothing is queued.
    """

    def __init__(self) -> None:
        self._is_needed, self._begins, self._is_idle = threading.Event(), threading.Event(), threading.Event()
        self._is_idle.set()
        for name, run in (("write_behind", self._run), ("write_behind_writer", self._write)):
            threading.Thread(target=run, name=name, daemon=True).start()
        # Server workers are multiprocessing children, which run finalizers on SIGTERM, but not atexit.
        Finalize(None, flush_at_exit, exitpriority=10)

    def wake(self) -> None:
        """Write soon."""
        if not self._is_needed.is_set():
            self._is_needed.set()

    def _run(self) -> None:
        while self._is_needed.wait():
            time.sleep(INTERVAL)
            self._is_needed.clear()
            if self._is_idle.is_set():
                self._is_idle.clear()
                self._begins.set()
            is_late = not self._is_idle.wait(PATIENCE)
            with _survive_errors():
                for buffer in _buffers:
                    buffer.spool(is_late=is_late)
                    buffer.report()
            if any(_buffers) or not self._is_idle.is_set():
                self._is_needed.set()

    def _write(self) -> None:
        while self._begins.wait():
            self._begins.clear()
            with _survive_errors():
                with limit_waits(time.monotonic() + WRITE_SECONDS):
                    flush_all()
                close_old_connections()  # give the pooled connection back until the next write
            self._is_idle.set()


@contextmanager
def _survive_errors() -> Iterator[None]:
    """Log any error of a thread's step, and wait a little: without its threads, a process writes nothing any more."""
    try:
        yield
    except Exception as error:
        log.error("write_behind.failed\n%s", logs.format_safely(error))
        time.sleep(FAILURE_SECONDS)


def _wake_thread() -> None:
    global _threads
    if _threads is None:
        with _starting:
            _threads = _threads or _Threads()
    _threads.wake()


def _forget_parent() -> None:
    global _threads, _starting
    _threads, _starting = None, threading.Lock()
    for buffer in _buffers:
        buffer.forget_parent()


_buffers: list[WriteBehindBuffer[Any]] = []
_threads: _Threads | None = None
_starting = threading.Lock()
os.register_at_fork(after_in_child=_forget_parent)
