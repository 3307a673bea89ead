"""Streams of turns for clients of other protocols. They bring their own ids of conversations."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Protocol
from uuid import UUID, uuid5

import orjson
from django.http import HttpRequest, StreamingHttpResponse

from chat.api.base import run_with_identity
from chat.api.stream import STREAM_HEADERS, start
from chat.errors import ApiError
from chat.events import event_reader, sse

NAMESPACE = UUID("6b0f6f0e-4c6c-4c39-9a3c-6d1c1f3f6a51")
MAX_ID = 200


class Encoder(Protocol):
    """Turns our events into those of a protocol."""

    def encode(self, type: str, data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events of the protocol for one of ours."""

    def frame(self, event: dict[str, Any]) -> bytes:
        """Return an event as it is sent."""

    def end(self) -> bytes:
        """Return what is sent after the last event."""


def build_session_id(subject: str, client_id: Any) -> str:
    """Return the id of the conversation that a client calls by its own id. Raises ApiError."""
    if not isinstance(client_id, str) or not 0 < len(client_id) <= MAX_ID:
        raise ApiError(
            400, "invalid_request", f"The id of the conversation must be a text of 1 to {MAX_ID} characters."
        )
    return str(uuid5(NAMESPACE, f"{subject}\n{client_id}"))


async def stream_new_turn(
    request: HttpRequest, client_id: Any, body: Mapping[str, Any], encoder: Encoder, headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """Start a turn in the conversation that the client calls so, and return its events."""
    turn_id = await run_with_identity(
        request,
        lambda identity: start(identity, body, session_id=build_session_id(identity.subject, client_id), creates=True),
        starts_turn=True,
    )
    return respond(turn_id, encoder, headers)


def respond(turn_id: str, encoder: Encoder, headers: Mapping[str, str]) -> StreamingHttpResponse:
    """Return the events of a turn from its beginning."""
    return StreamingHttpResponse(
        _encode_turn(turn_id, encoder),
        content_type="text/event-stream; charset=utf-8",
        headers=STREAM_HEADERS | dict(headers),
    )


async def _encode_turn(turn_id: str, encoder: Encoder) -> AsyncIterator[bytes]:
    async for events in event_reader.follow_events(turn_id, 0):
        frames = [
            encoder.frame(frame) for event in events for frame in encoder.encode(event.type, orjson.loads(event.data))
        ]
        yield b"".join(frames) or sse.COMMENT
    if last := encoder.end():
        yield last
