"""Write-behind buffer: calls queue values, the poller writes them. Calls neither wait for a write nor fail with it."""

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from multiprocessing.util import Finalize
from typing import Generic, TypeVar

from django.db import DatabaseError, InterfaceError

from core import safe_traceback

log = logging.getLogger(__name__)

MAX_SEEN_KEYS = 50_000  # written keys that a process remembers; forgotten keys are written again

Key = TypeVar("Key", str, tuple[str, ...])
Value = TypeVar("Value")


class WriteBehindBuffer(Generic[Key, Value]):
    """Buffer of values by key. Writes each key once, or again if it is put after `again_after`."""

    def __init__(self, write: Callable[[dict[Key, Value]], None], *, again_after: timedelta | None = None) -> None:
        # `write` gets the values sorted by key, so that two processes lock rows in the same order and do not deadlock.
        self._write: Callable[[dict[Key, Value]], None] = write
        self._again_after = again_after
        self._seen: OrderedDict[Key, datetime] = OrderedDict()
        self._waiting: dict[Key, Value] = {}
        self._lock = threading.Lock()
        self._exit_handler_pid = 0  # id of the process whose exit handler is registered

    def is_due(self, key: Key, at: datetime) -> bool:
        """Return whether a key should be put. Needs no lock: if two threads put a key at once, it is written once."""
        last = self._seen.get(key)
        return last is None or (self._again_after is not None and at - last >= self._again_after)

    def put(self, key: Key, value: Value, at: datetime) -> None:
        """Queue a value, to be written within half a second, if its key is due."""
        if not self.is_due(key, at):
            return
        with self._lock:
            self._seen[key] = at
            self._seen.move_to_end(key)
            self._waiting[key] = value
            while len(self._seen) > MAX_SEEN_KEYS:
                self._waiting.pop(self._seen.popitem(last=False)[0], None)  # bounds both: queued keys are in _seen
            if self._exit_handler_pid != os.getpid():
                self._exit_handler_pid = os.getpid()
                # Server workers are multiprocessing children, which run finalizers on SIGTERM, but not atexit.
                Finalize(self, self._flush_at_exit, exitpriority=10)

    def flush(self) -> None:
        """Write the queued values, if any. If the database fails, they stay queued, and the error is raised."""
        with self._lock:
            values = {key: self._waiting[key] for key in sorted(self._waiting)}
            self._waiting.clear()
        if not values:
            return
        try:
            self._write(values)
        except DatabaseError:
            with self._lock:  # except keys that were put again or cleared meanwhile
                failed_keys = values.keys() & self._seen.keys() - self._waiting.keys()
                self._waiting.update({key: values[key] for key in failed_keys})
            raise

    def clear(self) -> None:
        """Clear the memory of this process, for tests."""
        with self._lock:
            self._seen.clear()
            self._waiting.clear()

    def _flush_at_exit(self) -> None:
        try:
            self.flush()
        except (DatabaseError, InterfaceError) as error:
            log.error("write_behind.lost_at_exit\n%s", safe_traceback.format(error))
