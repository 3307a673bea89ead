"""What calls note and the follower writes down: an answer neither waits for it nor fails with it."""

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from multiprocessing.util import Finalize
from typing import Generic, TypeVar

from django.db import DatabaseError, InterfaceError

from core import faults

log = logging.getLogger(__name__)

REMEMBERED = 50_000  # keys that a process knows to be written; where there are more, one is written again

Key = TypeVar("Key", str, tuple[str, ...])
Value = TypeVar("Value")


class Noted(Generic[Key, Value]):
    """Values by key, each written once, or again when it is noted after so long; what is not written yet waits."""

    def __init__(self, write: Callable[[dict[Key, Value]], None], *, again_after: timedelta | None = None) -> None:
        # Given in the order of their keys, or two processes wait for each other.
        self._write: Callable[[dict[Key, Value]], None] = write
        self._again_after = again_after
        self._seen: OrderedDict[Key, datetime] = OrderedDict()
        self._waiting: dict[Key, Value] = {}
        self._lock = threading.Lock()
        self._ends_in = 0  # the process id in whose end the rest is written

    def is_due(self, key: Key, at: datetime) -> bool:
        """Whether a key is to be noted. No lock: noted by two threads at once, it is written once."""
        last = self._seen.get(key)
        return last is None or (self._again_after is not None and at - last >= self._again_after)

    def put(self, key: Key, value: Value, at: datetime) -> None:
        """Have a value written down within half a second, where its key is due."""
        if not self.is_due(key, at):
            return
        with self._lock:
            self._seen[key] = at
            self._seen.move_to_end(key)
            self._waiting[key] = value
            while len(self._seen) > REMEMBERED:
                self._waiting.pop(self._seen.popitem(last=False)[0], None)  # what waits is seen: neither grows endless
            if self._ends_in != os.getpid():
                self._ends_in = os.getpid()
                # The server's workers are multiprocessing children, which run finalizers on SIGTERM but not atexit.
                Finalize(self, self._end, exitpriority=10)

    def follow(self) -> None:
        """Write what waits; what the database refuses waits on. No statement where nothing does."""
        with self._lock:
            noted = {key: self._waiting[key] for key in sorted(self._waiting)}
            self._waiting.clear()
        if not noted:
            return
        try:
            self._write(noted)
        except DatabaseError:
            with self._lock:  # but what was noted anew, or forgotten, meanwhile
                kept = noted.keys() & self._seen.keys() - self._waiting.keys()
                self._waiting.update({key: noted[key] for key in kept})
            raise

    def forget(self) -> None:
        """Drop what is in memory, as a new process would begin."""
        with self._lock:
            self._seen.clear()
            self._waiting.clear()

    def _end(self) -> None:
        try:
            self.follow()
        except (DatabaseError, InterfaceError) as error:
            log.error("What was noted in the last half second is lost\n%s", faults.told(error))
