"""Read the events of a turn, live or from its log, as Server-Sent Events."""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from uuid import UUID

import orjson

from chat.connections import gives_connection_back
from chat.events import event_writer, failed_turns
from chat.events.turn_log import Event, TurnLog
from chat.models import EventChunk, Message

POLL_SECONDS = 0.3  # for a turn of another process
QUIET_SECONDS = 10.0  # after which a stream sends a comment, so that proxies keep it open
COMMENT = b": still here\n\n"
_EVENT_ID = re.compile(r"([0-9a-f-]{36}):([0-9]{1,9})")


async def follow_events(turn_id: str, after: int) -> AsyncIterator[list[Event]]:
    """Yield the events of a turn after a number until its end; an empty list if nothing happened for some seconds."""
    turn_log = event_writer.get_log(turn_id)
    follow = _follow_log(turn_log, after) if turn_log else _follow_database(turn_id, after)
    async for events in follow:
        yield events


async def _follow_log(turn_log: TurnLog, after: int) -> AsyncIterator[list[Event]]:
    while True:
        is_closed = turn_log.is_closed  # before its events are read: it may close in between
        events = turn_log.get_after(after)
        if events:
            after = events[-1].number
            yield events
        elif is_closed:
            return
        elif not await turn_log.wait_for_more(after, seconds=QUIET_SECONDS):
            yield []


async def _follow_database(turn_id: str, after: int) -> AsyncIterator[list[Event]]:
    loop, quiet_for = asyncio.get_running_loop(), 0.0
    while True:
        events, is_over = await loop.run_in_executor(None, partial(_read_events, turn_id, after))
        if events:
            after, quiet_for = events[-1].number, 0.0
            yield events
        if is_over:
            return
        await asyncio.sleep(POLL_SECONDS)
        quiet_for += POLL_SECONDS
        if quiet_for >= QUIET_SECONDS:
            quiet_for = 0.0
            yield []


@gives_connection_back
def _read_events(turn_id: str, after: int) -> tuple[list[Event], bool]:
    """Return the written events after a number, and whether these are the last ones."""
    failed_turns.mark_dead_turns_sometimes()
    turn = Message.objects.filter(pk=turn_id).only("finish", "error", "written").first()
    events = _load_chunks(turn_id, after)  # after `finish`: it is set when all events are written
    if turn and turn.finish == Message.Finish.INTERRUPTED and not (events and events[-1].type == "error"):
        # Its process died before it could write an end.
        last = events[-1].number if events else after
        events.append(Event(last + 1, "error", orjson.dumps(failed_turns.describe_error(turn))))
    return events, turn is None or bool(turn.finish)


def _load_chunks(turn_id: str, after: int) -> list[Event]:
    chunks = EventChunk.objects.filter(message_id=turn_id, last__gt=after).order_by("first")
    return [
        Event(number, type, orjson.dumps(data))
        for chunk in chunks
        for number, (type, data) in enumerate(orjson.loads(chunk.events), start=chunk.first)
        if number > after
    ]


def parse_event_id(text: str) -> tuple[str, int] | None:
    """Return the turn and the number of an event's id, None if it is malformed."""
    match = _EVENT_ID.fullmatch(text)
    if not match:
        return None
    try:
        return str(UUID(match[1])), int(match[2])
    except ValueError:
        return None


async def stream_turn(turn_id: str, after: int = 0) -> AsyncIterator[bytes]:
    """Yield the events of a turn after a number, until its end. Events that are there together come together."""
    start = f"id: {turn_id}:".encode()
    async for events in follow_events(turn_id, after):
        yield (
            b"".join(
                b"%s%d\nevent: %s\ndata: %s\n\n" % (start, event.number, event.type.encode(), event.data)
                for event in events
            )
            or COMMENT
        )
