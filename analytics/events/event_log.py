"""Record operation events: those of writes in the write's transaction, all others after the response.

`record_event` inserts in the caller's transaction. `enqueue_event` adds to a buffer, which a thread writes in bulk
every 100 ms and when the process ends. Events lost to a full buffer or a failed database are counted and logged.
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

from analytics.events.models import OperationEvent
from core import safe_traceback

log = logging.getLogger(__name__)

INTERVAL = 0.1  # seconds between two writes of the buffer
BUFFER_SIZE = 20_000  # events; ten seconds without a database at 2,000 calls a second
BATCH_SIZE = 500  # events per write
MAX_NAME_LENGTH = 200  # characters of op, subject, session and turn; longer ones are cut

_FIELDS = [field for field in OperationEvent._meta.concrete_fields if not field.primary_key]
_DEFAULTS: dict[str, Any] = {
    field.attname: field.get_default() if field.has_default() or not field.null else None for field in _FIELDS
}
_column_values = itemgetter(*(field.attname for field in _FIELDS))

_COLUMNS = ", ".join(f'"{field.column}"' for field in _FIELDS)
_TABLE = f'"{OperationEvent._meta.db_table}" ({_COLUMNS})'
_INSERT = f"INSERT INTO {_TABLE} VALUES ({', '.join(['%s'] * len(_FIELDS))})"  # noqa: S608 - the names are ours
_COPY = f"COPY {_TABLE} FROM STDIN"


def record_event(event: dict[str, Any]) -> None:
    """Insert one event ({field of OperationEvent: value}) in the open transaction."""
    # Raw SQL, since a write's response waits for this: the ORM takes three times as long.
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, *_to_rows([event]))


def write_events(events: list[dict[str, Any]]) -> None:
    """Write many events in the calling thread, all or none, with the database's fastest bulk insert."""
    with connection.cursor() as cursor:
        _bulk_insert(cursor, events)


def enqueue_event(event: dict[str, Any]) -> None:
    """Queue one event, to be written within 100 ms. Never blocks or raises, so that no call depends on its event."""
    _buffer.enqueue(event)


def flush() -> None:
    """Write all queued events now, in the calling thread."""
    _buffer.flush()


def discard_queued() -> None:
    """Drop all queued events. For tests, whose database is gone when the buffer would be written."""
    _buffer.discard()


def count_lost() -> int:
    """Return how many buffered events this process could not write."""
    return _buffer.lost


def count_queued() -> int:
    """Return how many events are queued in this process."""
    return len(_buffer)


class _EventBuffer:
    """Queue of events, and the thread that writes them."""

    def __init__(self) -> None:
        self.lost = 0
        self._rows: deque[dict[str, Any]] = deque()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def enqueue(self, event: dict[str, Any]) -> None:
        if len(self._rows) >= BUFFER_SIZE:
            self.lost += 1
            return
        self._rows.append(event)
        if self._thread is None or not self._thread.is_alive():  # or after a fork, which does not copy threads
            self._start_thread()

    def flush(self) -> None:
        with self._writing:
            while self._rows:
                batch = [self._rows.popleft() for _ in range(min(BATCH_SIZE, len(self._rows)))]
                try:
                    write_events(batch)
                except (DatabaseError, InterfaceError) as error:
                    self.lost += len(batch)
                    log.error("events.lost count=%d total=%d\n%s", len(batch), self.lost, safe_traceback.format(error))

    def discard(self) -> None:
        with self._writing:
            self._rows.clear()

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._run_loop, name="events", daemon=True)
            self._thread.start()
            # Server workers are multiprocessing children, which run finalizers on SIGTERM, but not atexit.
            Finalize(self, self.flush, exitpriority=10)

    def _run_loop(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL):
            if self._rows:
                self.flush()
                close_old_connections()  # give the pooled connection back until the next flush


_buffer = _EventBuffer()


def _bulk_insert(cursor: CursorWrapper, events: list[dict[str, Any]]) -> None:
    """Insert a batch, all or none, in the cheapest way for the database, since every call causes an event.

    A single INSERT of many rows costs twice as much on SQLite and five times as much on PostgreSQL, for parsing it.
    """
    if connection.vendor == "postgresql":
        # Django wraps the errors of execute, but not those of copy.
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            for row in _to_rows(events):
                copy.write_row(row)
    else:
        with transaction.atomic():
            cursor.executemany(_INSERT, _to_rows(events))


def _to_rows(events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    adapt_time = connection.ops.adapt_datetimefield_value
    return [
        _column_values(
            {
                **_DEFAULTS,
                **event,
                "time": adapt_time(event["time"]),
                "field_errors": orjson.dumps(event.get("field_errors", [])).decode(),  # both databases take text
                "content": orjson.dumps(content).decode() if (content := event.get("content")) is not None else None,
            }
        )
        for event in events
    ]


def build_event(*, time: datetime, type: OperationEvent.Type, **fields: Any) -> dict[str, Any]:
    """Return an event's fields, with names cut to the length of their columns."""
    fields["time"], fields["type"] = time, str(type)
    for name in ("op", "subject", "session", "turn"):
        if len(fields.get(name) or "") > MAX_NAME_LENGTH:
            fields[name] = fields[name][:MAX_NAME_LENGTH]
    return fields
