"""A thread that writes the events of this process's turns to the database, and says that the turns are alive."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from chat.connections import close_connection, give_back_connection
from chat.events.turn_log import TurnLog
from chat.models import EventChunk, Message
from core import safe_traceback

log = logging.getLogger(__name__)

FLUSH_SECONDS = 0.25
HEARTBEAT_SECONDS = 4.0
MARKING_SECONDS = 2.0
DEAD_AFTER = timedelta(seconds=11)  # without a heartbeat: a turn that is behind by two

INTERRUPTED = {
    "code": "interrupted",
    "message": "The answer was interrupted. Send the message again.",
    "retryable": True,
}

Cancel = Callable[[], None]

_running: dict[str, tuple[TurnLog, Cancel]] = {}
_lock = threading.Lock()
_write_lock = threading.Lock()  # the thread of a turn writes its last events, and no event is written twice
_thread: threading.Thread | None = None
_next_marking = 0.0


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
    """End a turn at once if it runs in this process."""
    if entry := _running.get(turn_id):
        entry[1]()


def count_turns() -> int:
    """Return how many turns run in this process."""
    return len(_running)


def remove_turn(turn_log: TurnLog) -> None:
    """Stop writing a turn, whose last events were written by `write_events`."""
    with _lock:
        _running.pop(turn_log.turn_id, None)


def write_events(turn_log: TurnLog) -> None:
    """Write the events of a turn that are not written yet."""
    with _write_lock:
        chunk = _build_chunk(turn_log)
        if chunk is not None:
            chunk.save(force_insert=True)
            turn_log.written = chunk.last


def mark_dead_turns_sometimes() -> None:
    """Mark dead turns unless that was done a moment ago."""
    global _next_marking
    if time.monotonic() >= _next_marking:
        _next_marking = time.monotonic() + MARKING_SECONDS
        mark_dead_turns()


def mark_dead_turns() -> None:
    """Mark turns as interrupted whose process has stopped saying that they are alive."""
    Message.objects.filter(role=Message.Role.ASSISTANT, finish="", heartbeat_at__lt=timezone.now() - DEAD_AFTER).update(
        finish=Message.Finish.INTERRUPTED, error=INTERRUPTED
    )


def _run() -> None:
    next_heartbeat = 0.0
    while True:
        time.sleep(FLUSH_SECONDS)
        try:
            _write_all()
            _cancel_where_asked()
            if time.monotonic() >= next_heartbeat:
                Message.objects.filter(pk__in=list(_running), finish="").update(heartbeat_at=timezone.now())
                mark_dead_turns()
                next_heartbeat = time.monotonic() + HEARTBEAT_SECONDS
        except (DatabaseError, InterfaceError) as error:
            log.warning("chat.events_not_written turns=%d reason=%s", len(_running), type(error).__name__)
        except Exception as error:
            log.error("chat.event_writer_failed\n%s", safe_traceback.format(error))
        finally:
            give_back_connection()  # the pool may have no other one
        with _lock:
            if not _running:
                _stop()
                close_connection()
                return


def _stop() -> None:
    """End the thread, which holds the lock. The next turn starts another one."""
    global _thread
    _thread = None


def _write_all() -> None:
    with _lock:
        logs = [turn_log for turn_log, _ in _running.values()]
    with _write_lock:
        chunks = [(turn_log, chunk) for turn_log in logs if (chunk := _build_chunk(turn_log))]
        if not chunks:
            return
        EventChunk.objects.bulk_create([chunk for _, chunk in chunks])
        for turn_log, chunk in chunks:
            turn_log.written = chunk.last


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


def _cancel_where_asked() -> None:
    asked = Message.objects.filter(pk__in=list(_running), finish="", cancel_requested=True).values_list("pk", flat=True)
    for turn_id in asked:
        cancel_here(str(turn_id))
