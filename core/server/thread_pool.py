"""Threads that run calls of one kind, so that slow calls of one kind do not delay those of another."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, Queue

from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connections

from core.database.connections import can_keep_connection, release_connection

log = logging.getLogger(__name__)

PARK_SECONDS = 5.0  # that a thread is kept while it is not needed: another call may wait for its service soon
KEEP_SECONDS = 0.01  # that an idle thread keeps its connection to the database: under load its next call comes sooner
MOST_LENT = 200  # threads of a pool that may wait for other servers; further ones do not give up their place

Work = Callable[[], None]


class TooManyCalls(Exception):
    """An address has reached its limit of waiting and running calls."""


class ThreadPool:
    """A number of threads, and the queue from which they take work in order of arrival.

    A thread that waits for another server lends its place: if no thread is idle, one more joins. So `threads` is how
    many calls compute at a time, however many others wait. While work is queued they are a few more: a thread that has
    waited goes on with the next call, beside the one that joined for it. With nothing queued, a thread that is one too
    many is parked: it takes no work until it is needed again, and ends after some seconds.

    Only the event loop may call `submit` and `release`: they are not locked.
    """

    def __init__(self, name: str, threads: int, *, most_per_address: int | None = None) -> None:
        self._name = name
        self._size = threads
        # Not a SimpleQueue: before Python 3.13, its `get` may forget the time limit when another thread is faster.
        self._queue: Queue[Work] = Queue()
        self._most_per_address = most_per_address
        self._calls_by_address: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._idle = self._lent = self._parked = self._started = 0
        self._unparked: Queue[None] = Queue()  # one item for each parked thread that is needed
        for _ in range(threads):
            self._start_thread()

    def submit(self, address: str, work: Work) -> None:
        """Queue some work for a client's address, to be followed by `release`. Raises TooManyCalls."""
        if self._most_per_address is not None:
            if self._calls_by_address[address] >= self._most_per_address:
                raise TooManyCalls
            self._calls_by_address[address] += 1
        self._queue.put(work)

    def release(self, address: str) -> None:
        """Note that some work for an address is over."""
        if self._most_per_address is not None:
            self._calls_by_address[address] -= 1
            if not self._calls_by_address[address]:
                del self._calls_by_address[address]

    @contextmanager
    def lend(self) -> Iterator[None]:
        """Let another thread take work while this one waits."""
        with self._lock:
            self._lent += 1
            is_needed = self._idle == 0 and self._lent <= MOST_LENT
            is_parked = is_needed and self._parked > 0
            if is_parked:
                self._parked -= 1
                self._idle += 1
        if is_parked:
            self._unparked.put(None)
        elif is_needed:
            self._start_thread()
        try:
            yield
        finally:
            with self._lock:
                self._lent -= 1

    def _park(self) -> bool:
        """Wait until the thread is needed again. Return False if it is not."""
        with suppress(Empty):
            self._unparked.get(timeout=PARK_SECONDS)
            return True
        with self._lock:
            if self._parked:
                self._parked -= 1
                return False
        self._unparked.get()  # it is needed since just now
        return True

    def _start_thread(self) -> None:
        self._started += 1
        with self._lock:
            self._idle += 1  # from now on: two threads that lend at the same time start two
        threading.Thread(target=self._run_loop, name=f"{self._name}-{self._started}", daemon=True).start()

    def _run_loop(self) -> None:
        _this_thread.pool = self
        while True:
            work = self._take_work()
            with self._lock:
                self._idle -= 1
            try:
                work()
            except Exception:  # a bug in the server: the thread goes on with the next call
                log.exception("server.thread_failed")
            del work  # a waiting thread would hold the last request
            with self._lock:
                is_needed = self._idle < self._size  # else it joined while others waited
                if is_needed:
                    self._idle += 1
                else:
                    self._parked += 1
            if not is_needed:
                release_connection()
                if not self._park():
                    break
        connections.close_all()

    def _take_work(self) -> Work:
        """Return the next work. Until it comes, the thread keeps its connection to the database for a moment."""
        with suppress(Empty):
            work = self._queue.get(timeout=KEEP_SECONDS)
            if not can_keep_connection():
                release_connection()
            return work
        release_connection()
        return self._queue.get()


def leave_connections_to_pools() -> None:
    """Let the pools of this process return connections to the database, not Django before and after each request."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)


_this_thread = threading.local()


@contextmanager
def lend_thread() -> Iterator[None]:
    """Let another thread of the pool take work while this one waits for another server.

    Does nothing in a thread outside of a pool.
    """
    pool: ThreadPool | None = getattr(_this_thread, "pool", None)
    if pool is None:
        yield
        return
    with pool.lend():
        yield
