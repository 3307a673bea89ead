"""A thread that writes the events of this process's turns to the database, and ends turns that nobody waits for."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson
from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction
from django.db.models import Max
from django.utils import timezone

from chat.connections import close_connection, give_back_connection
from chat.errors import ApiError
from chat.events import failed_turns
from chat.events.turn_log import TurnLog
from chat.models import EventChunk, Message
from core import logs as safe_traceback

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.25
MARKING_SECONDS = 4.0
END_TRIES = 20  # to write the end of a turn while the database is away
MAX_TURNS = 300  # in one process

_INSERT = f'INSERT INTO {EventChunk._meta.db_table} (message_id, "first", "last", events, written_at) VALUES '  # noqa: S608 - our name
_ROW = "(%s, %s, %s, %s, %s)"

Cancel = Callable[[], None]

_running: dict[str, tuple[TurnLog, Cancel]] = {}
_lock = threading.Lock()
_write_lock = threading.Lock()  # the thread of a turn writes its last events, and no event is written twice
_thread: threading.Thread | None = None


def add_turn(turn_log: TurnLog, cancel: Cancel) -> None:
    """Write the events of a turn from now on. `cancel` is called when another process asks for its end."""
    global _thread
    with _lock:
        _running[turn_log.turn_id] = (turn_log, cancel)
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="chat-event-writer", daemon=True)
            _thread.start()


def get_log(turn_id: str) -> TurnLog | None:
    """Return the log of a turn that runs in this process."""
    entry = _running.get(turn_id)
    return entry[0] if entry else None


def cancel_here(turn_id: str) -> None:
    """End a turn immediately if it runs in this process."""
    if entry := _running.get(turn_id):
        entry[1]()


def count_turns() -> int:
    """Return how many turns run in this process."""
    return len(_running)


def check_capacity() -> None:
    """Raise ApiError if this process runs as many turns as it can."""
    if count_turns() >= MAX_TURNS:
        raise ApiError(503, "too_many_turns", "Too many answers are being written. Try again soon.", retry_after=2)


def remove_turn(turn_log: TurnLog) -> None:
    """Stop writing a turn, whose last events were written by `write_events`."""
    with _lock:
        _running.pop(turn_log.turn_id, None)


def write_end(turn_log: TurnLog, store_end: Callable[[], None]) -> None:
    """Write the last events of a turn and call `store_end`, both in one transaction."""
    with _write_lock:  # before the transaction: the thread that writes waits in the same order
        chunk = _build_chunk(turn_log)
        try:
            with transaction.atomic():
                if chunk is not None:
                    chunk.save(force_insert=True)
                store_end()
        except IntegrityError:
            _find_written(turn_log)  # the next try begins behind that
            raise
        if chunk is not None:
            turn_log.written = chunk.last


def write_end_patiently(turn_log: TurnLog, store_end: Callable[..., None], *, exists: Callable[[], bool]) -> bool:
    """Write the end of a turn, also if the database is away for a while. Return False if that did not succeed.

    `store_end` is called with the time of each try (`at`). Nothing is written if the turn does not exist any longer.
    """
    for attempt in range(END_TRIES):
        try:
            write_end(turn_log, partial(store_end, at=datetime.now(UTC)))
            return True
        except (DatabaseError, InterfaceError) as error:
            if isinstance(error, IntegrityError) and not exists():
                return True  # the user has deleted the conversation, or was forgotten
            log.warning("chat.end_not_written turn=%s reason=%s", turn_log.turn_id, type(error).__name__)
            give_back_connection()
            time.sleep(min(0.2 * (attempt + 1), 2))
    return False


def _run() -> None:
    next_marking = 0.0
    while True:
        time.sleep(FLUSH_SECONDS)
        _try(_write_all)
        _try(_end_where_asked)
        if time.monotonic() >= next_marking:
            _try(failed_turns.mark_dead_turns)
            next_marking = time.monotonic() + MARKING_SECONDS
        give_back_connection()  # the pool may have no other one
        with _lock:
            if not _running:
                _stop()
                close_connection()
                return


def _try(step: Callable[[], None]) -> None:
    """Take a step. If it fails, the others are still taken."""
    try:
        step()
    except (DatabaseError, InterfaceError) as error:
        log.warning("chat.event_writer_waits turns=%d reason=%s", len(_running), type(error).__name__)
    except Exception as error:
        log.error("chat.event_writer_failed\n%s", safe_traceback.format_safely(error))


def _stop() -> None:
    """End the thread, which holds the lock. The next turn starts another one."""
    global _thread
    _thread = None


def _write_all() -> None:
    with _lock:
        logs = [turn_log for turn_log, _ in _running.values()]
    with _write_lock:
        try:
            _write_chunks(logs)
        except IntegrityError:  # of one of them: the others are written without it
            for turn_log in logs:
                _write_alone(turn_log)


def _write_chunks(logs: list[TurnLog]) -> None:
    chunks = [(turn_log, chunk) for turn_log in logs if (chunk := _build_chunk(turn_log))]
    if chunks:
        at = connection.ops.adapt_datetimefield_value(timezone.now())
        values: list[Any] = []
        for turn_log, chunk in chunks:
            # Without hyphens, as SQLite stores it. PostgreSQL takes both.
            values += (turn_log.turn_id.replace("-", ""), chunk.first, chunk.last, chunk.events, at)
        with transaction.atomic(), connection.cursor() as cursor:
            # Raw SQL, since all running turns are written every quarter of a second: the ORM takes twice as long.
            cursor.execute(_INSERT + ", ".join([_ROW] * len(chunks)), values)
    for turn_log, chunk in chunks:
        turn_log.written = chunk.last


def _write_alone(turn_log: TurnLog) -> None:
    try:
        _write_chunks([turn_log])
    except IntegrityError:
        _find_written(turn_log)


def _find_written(turn_log: TurnLog) -> None:
    """Learn what is written of a turn: a commit may have succeeded although its answer was lost."""
    written = EventChunk.objects.filter(message_id=turn_log.turn_id).aggregate(last=Max("last"))["last"]
    turn_log.written = written or 0


def _build_chunk(turn_log: TurnLog) -> EventChunk | None:
    events = turn_log.get_after(turn_log.written)
    if not events:
        return None
    content: list[Any] = [[event.type, orjson.Fragment(event.data)] for event in events]
    return EventChunk(
        message_id=turn_log.turn_id,
        first=events[0].number,
        last=events[-1].number,
        events=orjson.dumps(content).decode(),
    )


def _end_where_asked() -> None:
    """End turns that another process was asked to cancel, that were marked as dead, or whose conversation is gone."""
    running = list(_running)
    rows = Message.objects.filter(pk__in=running).values_list("pk", "finish", "cancel_requested")
    goes_on = {str(turn_id) for turn_id, finish, is_cancelled in rows if not finish and not is_cancelled}
    for turn_id in running:
        if turn_id not in goes_on:
            cancel_here(turn_id)
