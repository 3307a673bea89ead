"""Record operation events: events of writes in the write's transaction, all others after the response.

`record_event` inserts in the caller's transaction. `enqueue_event` adds to a buffer, which a thread writes in bulk
every 100 ms and when the process ends. Events lost to a full buffer or a failed database are counted and logged.
"""

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from prometheus_client import Counter, Gauge

from analytics.events.models import EventLoss, OperationEvent
from core.background.write_behind import WriteBehindBuffer
from core.database.deadlines import Statement, execute_together

BUFFER_SIZE = 20_000  # events; ten seconds without a database at 2,000 calls a second
EVENTS_BUFFERED = Gauge(
    "gateway_events_buffered", "Operation events waiting to be written.", multiprocess_mode="livesum"
)
EVENTS_LOST = Counter("gateway_events_lost", "Operation events that could not be written.")
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


def record_event(event: dict[str, Any], *, after: Sequence[Statement] = ()) -> None:
    """Insert one event ({field of OperationEvent: value}) in the open transaction.

    The statements in `after` run before it, in the same round trip.
    """
    # Raw SQL, since a write's response waits for this: the ORM takes three times as long.
    [row] = _to_rows([event])
    execute_together(*after, (_INSERT, row))


def write_events(events: list[dict[str, Any]]) -> None:
    """Write many events in the calling thread, all or none, with the database's fastest bulk insert."""
    with connection.cursor() as cursor:
        _bulk_insert(cursor, events)


def enqueue_event(event: dict[str, Any]) -> None:
    """Queue one event, to be written within 100 ms. Never blocks or raises, so that no call depends on its event."""
    _buffer.put(event)


def flush() -> None:
    """Write all queued events now, in the calling thread."""
    _buffer.flush()


def discard_queued() -> None:
    """Drop all queued events. For tests, whose database is gone when the buffer would be written."""
    _buffer.discard()


def count_queued() -> int:
    """Return how many events are queued in this process."""
    return len(_buffer)


def update_metrics() -> None:
    """Update how many events wait in this process and how many it has lost. Store the losses, for alerts.

    The poller calls this. It does not while the database is away, so a loss is stored when the database is back.
    """
    global _counted_as_lost, _stored_as_lost
    lost = _buffer.lost
    EVENTS_LOST.inc(lost - _counted_as_lost)
    _counted_as_lost = lost
    EVENTS_BUFFERED.set(len(_buffer))
    if lost > _stored_as_lost:
        EventLoss.objects.create(time=timezone.now(), count=lost - _stored_as_lost)
        _stored_as_lost = lost


_counted_as_lost = _stored_as_lost = 0
_buffer = WriteBehindBuffer("events", write_events, capacity=BUFFER_SIZE)


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
                "changed_ids": _dump_json(event.get("changed_ids")),
                "progress": _dump_json(event.get("progress")),
                "content": _dump_json(event.get("content")),
            }
        )
        for event in events
    ]


def _dump_json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def build_event(*, time: datetime, type: OperationEvent.Type, **fields: Any) -> dict[str, Any]:
    """Return an event's fields. Names are cut to the length of their columns."""
    fields["time"], fields["type"] = time, str(type)
    for name in ("op", "subject", "session", "turn"):
        if len(fields.get(name) or "") > MAX_NAME_LENGTH:
            fields[name] = fields[name][:MAX_NAME_LENGTH]
    return fields
