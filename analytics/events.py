"""Recording operation events: a write's with the write, all others behind the answer.

`record` inserts in the caller's transaction. `later` puts the row into a buffer that a thread writes in bulk every
100 ms, and that is flushed when the process ends. What a full buffer or a lost database drops is counted and logged.
"""

import logging
import threading
from collections import deque
from datetime import datetime
from multiprocessing.util import Finalize
from operator import itemgetter
from typing import Any

import orjson
from django.db import DatabaseError, InterfaceError, close_old_connections, connection, transaction
from django.db.backends.utils import CursorWrapper

from analytics.models import OperationEvent
from core import faults

log = logging.getLogger(__name__)

INTERVAL = 0.1  # seconds at most between an answer and its event's row
BUFFER = 20_000  # rows; at 2,000 calls a second what ten seconds without a database leave behind
BATCH = 500  # rows written at once
LONGEST = 200  # characters of a name

_FIELDS = [field for field in OperationEvent._meta.concrete_fields if not field.primary_key]
_UNSAID: dict[str, Any] = {
    field.attname: field.get_default() if field.has_default() or not field.null else None for field in _FIELDS
}
_in_order = itemgetter(*(field.attname for field in _FIELDS))

_NAMES = ", ".join(f'"{field.column}"' for field in _FIELDS)
_TABLE = f'"{OperationEvent._meta.db_table}" ({_NAMES})'
_INSERT = f"INSERT INTO {_TABLE} VALUES ({', '.join(['%s'] * len(_FIELDS))})"  # noqa: S608 - the names are ours
_COPY = f"COPY {_TABLE} FROM STDIN"


def record(event: dict[str, Any]) -> None:
    """Insert one event (fields of OperationEvent by name) in the transaction that is open."""
    # By hand, since a write's event is on the way of its answer: the ORM takes three times as long to make the row.
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, *_rows([event]))


def write(events: list[dict[str, Any]]) -> None:
    """Write many events in the calling thread, all or nothing, as fast as the database takes them."""
    with connection.cursor() as cursor:
        _insert(cursor, events)


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


def buffered() -> int:
    """Return how many events wait in this process to be written."""
    return len(_buffer)


class _Buffer:
    """Events on their way to the database."""

    def __init__(self) -> None:
        self.lost = 0
        self._rows: deque[dict[str, Any]] = deque()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._rows)

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
                    write(batch)
                except (DatabaseError, InterfaceError) as error:
                    self.lost += len(batch)
                    log.error("%d events lost, %d in all\n%s", len(batch), self.lost, faults.told(error))

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
                self.flush()
                close_old_connections()  # until the next flush a pooled connection is the callers'


_buffer = _Buffer()


def _insert(cursor: CursorWrapper, events: list[dict[str, Any]]) -> None:
    """Insert a batch, all or nothing, in the way that costs each database the least: every call pays for its event.

    One INSERT of many rows costs SQLite twice and PostgreSQL five times as much, for parsing it.
    """
    if connection.vendor == "postgresql":
        # Django wraps the errors of execute, but not those of copy.
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            for row in _rows(events):
                copy.write_row(row)
    else:
        with transaction.atomic():
            cursor.executemany(_INSERT, _rows(events))


def _rows(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    adapted = connection.ops.adapt_datetimefield_value
    return [
        _in_order(
            {
                **_UNSAID,
                **event,
                "time": adapted(event["time"]),
                "field_errors": orjson.dumps(event.get("field_errors", [])).decode(),  # both databases take it as text
                "content": orjson.dumps(content).decode() if (content := event.get("content")) is not None else None,
            }
        )
        for event in events
    ]


def new(*, time: datetime, type: OperationEvent.Type, **fields: Any) -> dict[str, Any]:
    """Return an event's fields, cut to what its columns hold."""
    fields["time"], fields["type"] = time, str(type)
    for name in ("op", "subject", "session", "turn"):
        if len(fields.get(name) or "") > LONGEST:
            fields[name] = fields[name][:LONGEST]
    return fields
