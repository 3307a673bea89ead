"""Recording operation events: a write's with the write, all others behind the answer.

`record` inserts in the caller's transaction. `later` puts the row into a buffer that a thread writes in bulk every
100 ms, and that is flushed when the process ends. What a full buffer or a lost database drops is counted and logged.
"""

import logging
import threading
from collections import deque
from datetime import datetime
from multiprocessing.util import Finalize
from typing import Any

from django.db import DatabaseError, close_old_connections, connection, models
from django.db.backends.utils import CursorWrapper

from analytics.models import OperationEvent

log = logging.getLogger(__name__)

INTERVAL = 0.1  # seconds at most between an answer and its event's row
BUFFER = 20_000  # rows; at 2,000 calls a second what ten seconds without a database leave behind
BATCH = 500  # rows in one statement

_FIELDS = [field for field in OperationEvent._meta.concrete_fields if not field.primary_key]
_COLUMNS = [field.column for field in _FIELDS]
_UNSAID: dict[str, Any] = {
    field.attname: field.get_default() if field.has_default() or not field.null else None for field in _FIELDS
}
# Columns whose values every driver takes as they are.
_PLAIN = {
    field.attname
    for field in _FIELDS
    if isinstance(field, models.CharField | models.BooleanField | models.IntegerField | models.FloatField)
}


def record(event: dict[str, Any]) -> None:
    """Insert one event (fields of OperationEvent by name) in the transaction that is open."""
    with connection.cursor() as cursor:
        _insert(cursor, [event])


def later(event: dict[str, Any]) -> None:
    """Have one event written within 100 ms. Never waits and never raises: an answer does not depend on its event."""
    _buffer.put(event)


def flush() -> None:
    """Write what is buffered now, in the calling thread."""
    _buffer.flush()


def discard() -> None:
    """Forget what is buffered, unwritten: for tests, whose database is gone when the buffer would be written."""
    _buffer.discard()


def lost() -> int:
    """Return how many buffered events this process could not write."""
    return _buffer.lost


class _Buffer:
    """Events on their way to the database."""

    def __init__(self) -> None:
        self.lost = 0
        self._rows: deque[dict[str, Any]] = deque()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def put(self, event: dict[str, Any]) -> None:
        if len(self._rows) >= BUFFER:
            self.lost += 1
            return
        self._rows.append(event)
        if self._thread is None or not self._thread.is_alive():  # also after a fork, which copies no threads
            self._start()

    def flush(self) -> None:
        with self._writing:
            while self._rows:
                batch = [self._rows.popleft() for _ in range(min(BATCH, len(self._rows)))]
                try:
                    with connection.cursor() as cursor:
                        _insert(cursor, batch)
                except DatabaseError as error:
                    self.lost += len(batch)
                    log.error("%d events lost, %d in all: %s", len(batch), self.lost, error)

    def discard(self) -> None:
        with self._writing:
            self._rows.clear()

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._run, name="events", daemon=True)
            self._thread.start()
            # The server's workers are multiprocessing children, which run finalizers on SIGTERM but not atexit.
            Finalize(self, self.flush, exitpriority=10)

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL):
            if self._rows:
                close_old_connections()
                self.flush()


_buffer = _Buffer()


def _insert(cursor: CursorWrapper, events: list[dict[str, Any]]) -> None:
    # By hand, since a write's event is on the way of its answer: the ORM takes three times as long to make the row.
    row = "(" + ", ".join(["%s"] * len(_FIELDS)) + ")"
    names = ", ".join(f'"{column}"' for column in _COLUMNS)
    sql = f'INSERT INTO "{OperationEvent._meta.db_table}" ({names}) VALUES {", ".join([row] * len(events))}'  # noqa: S608
    cursor.execute(sql, [value for event in events for value in _values(event)])


def _values(event: dict[str, Any]) -> list[Any]:
    filled = _UNSAID | event
    return [
        value if field.attname in _PLAIN or value is None else field.get_db_prep_save(value, connection)
        for field in _FIELDS
        for value in (filled.get(field.attname),)
    ]


def new(*, time: datetime, type: OperationEvent.Type, **fields: Any) -> dict[str, Any]:
    """Return an event's fields, cut to what its columns hold."""
    event = {"time": time, "type": str(type), **fields}
    for name in ("op", "subject", "session", "turn"):
        if isinstance(event.get(name), str):
            event[name] = event[name][:200]
    return event
