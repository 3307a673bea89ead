"""Record operation events: events of writes in the write's transaction, all others after the response.

`record_event` inserts in the caller's transaction. `enqueue_event` adds to a buffer, which a thread writes in bulk
every 100 ms and when the process ends. While the database does not take them, events wait on disk, and each is written
once. Events that neither the database nor the disk took are counted and logged.
"""

from collections import Counter as Multiset
from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

import orjson
from django.db import OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone
from prometheus_client import Counter, Gauge

from analytics.events import forgotten_subjects
from analytics.events.models import EventLoss, OperationEvent
from core.background import write_behind
from core.background.spool import Spool
from core.background.write_behind import WriteBehindBuffer
from core.database.deadlines import Statement, execute_together

BUFFER_SIZE = 20_000  # events in memory, which the disk does not take either
EVENTS_BUFFERED = Gauge(
    "gateway_events_buffered", "Operation events waiting in memory to be written.", multiprocess_mode="livesum"
)
EVENTS_SPOOLED = Gauge(
    "gateway_events_spooled_bytes", "Operation events waiting on disk to be written.", multiprocess_mode="livesum"
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

# What no two events have in common: their times are in microseconds.
_IDENTITY = ("trace_id", "time", "type", "op", "status", "latency_ms")
_get_identity = itemgetter(*_IDENTITY)
# COPY statements that run for longer than the last failure is past. Those of connections that were given up are ended.
_END_COPIES = """
SELECT age < make_interval(secs => %s) OR pg_terminate_backend(pid)
FROM (SELECT pid, now() - query_start AS age FROM pg_stat_activity
      WHERE datname = current_database() AND state = 'active' AND query = %s) AS copies
WHERE age > make_interval(secs => %s)
"""


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


def is_losing_events() -> bool:
    """Return whether this process has no room for more events, in memory or on disk."""
    return _buffer.is_full


def update_metrics() -> None:
    """Store the number of lost events, for alerts, and take over events that a process left on disk when it ended.

    The poller calls this. It does not while the database is away, so a loss is stored when the database is back.
    """
    global _stored_as_lost
    _buffer.adopt()
    lost = _buffer.lost
    if lost > _stored_as_lost:
        EventLoss.objects.create(time=timezone.now(), count=lost - _stored_as_lost)
        _stored_as_lost = lost


def update_gauges() -> None:
    """Update the metrics of the events that wait in this process and of those that it has lost, also in an outage."""
    global _counted_as_lost
    lost = _buffer.lost
    EVENTS_LOST.inc(lost - _counted_as_lost)
    _counted_as_lost = lost
    EVENTS_BUFFERED.set(len(_buffer))
    EVENTS_SPOOLED.set(_buffer.spooled_bytes)


def _write_waiting_events(events: list[dict[str, Any]], may_be_stored: bool) -> None:
    """Write events that are not stored yet, without those of subjects that were forgotten meanwhile."""
    events = forgotten_subjects.exclude_forgotten(events)
    if events and may_be_stored:
        _wait_for_other_writes()
        events = _exclude_stored(events)
    if events:
        write_events(events)


def _exclude_stored(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    times = [event["time"] for event in events]
    rows = OperationEvent.objects.filter(trace_id__in={event["trace_id"] for event in events})
    stored = Multiset(rows.filter(time__range=(min(times), max(times))).values_list(*_IDENTITY))
    missing = []
    for event in events:
        identity = _get_identity(_DEFAULTS | event)
        if stored[identity]:
            stored[identity] -= 1
        else:
            missing.append(event)
    return missing


def _wait_for_other_writes() -> None:
    """Raise OperationalError if a connection that was lost may still store its events, which it does or not at once."""
    if connection.vendor != "postgresql":
        return
    with connection.cursor() as cursor:
        cursor.execute(_END_COPIES, [2 * write_behind.WRITE_SECONDS, _COPY, write_behind.INTERVAL])
        if cursor.fetchone():
            raise OperationalError("another connection is writing events")


def _encode_event(event: dict[str, Any]) -> bytes:
    return orjson.dumps(event, option=orjson.OPT_NON_STR_KEYS)


def _decode_event(line: bytes) -> dict[str, Any]:
    event: dict[str, Any] = orjson.loads(line)
    return event | {"time": datetime.fromisoformat(event["time"])}


_counted_as_lost = _stored_as_lost = 0
_buffer = WriteBehindBuffer(
    "events",
    write_events,
    capacity=BUFFER_SIZE,
    retries=True,
    rewrite=_write_waiting_events,
    spool=Spool("events", _encode_event, _decode_event),
    report=update_gauges,
)


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
    """Return an event's fields, as `cut_names` does."""
    return cut_names({"time": time, "type": str(type), **fields})


def cut_names(event: dict[str, Any]) -> dict[str, Any]:
    """Cut the names of an event to the length of their columns, and return it."""
    for name in ("op", "subject", "session", "turn"):
        if len(event.get(name) or "") > MAX_NAME_LENGTH:
            event[name] = event[name][:MAX_NAME_LENGTH]
    return event
