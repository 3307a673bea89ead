"""Threads that run calls of one kind, so that slow calls of one kind do not delay those of another."""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from queue import SimpleQueue

log = logging.getLogger(__name__)

Work = Callable[[], None]


class TooManyCalls(Exception):
    """An address has as many calls waiting or running as it may have."""


class ThreadPool:
    """A number of threads and the queue from which they take work, in the order in which it came.

    Only the event loop may call `submit` and `release`: they are not locked.
    """

    def __init__(self, name: str, threads: int, *, most_per_address: int | None = None) -> None:
        self._queue: SimpleQueue[Work] = SimpleQueue()
        self._most_per_address = most_per_address
        self._calls_by_address: Counter[str] = Counter()
        for number in range(threads):
            threading.Thread(target=self._run_loop, name=f"{name}-{number}", daemon=True).start()

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

    def _run_loop(self) -> None:
        while True:
            work = self._queue.get()
            try:
                work()
            except Exception:  # a bug in the server: the thread goes on with the next call
                log.exception("server.thread_failed")
            del work  # a waiting thread would hold the last request
