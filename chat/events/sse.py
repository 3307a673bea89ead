"""Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import re
from collections.abc import AsyncIterator
from uuid import UUID

from chat.events import event_reader

COMMENT = b": still here\n\n"

_EVENT_ID = re.compile(r"([0-9a-f-]{36}):([0-9]{1,9})")


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
    async for events in event_reader.follow_events(turn_id, after):
        yield (
            b"".join(
                b"%s%d\nevent: %s\ndata: %s\n\n" % (start, event.number, event.type.encode(), event.data)
                for event in events
            )
            or COMMENT
        )
