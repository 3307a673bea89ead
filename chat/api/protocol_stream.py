"""Stream a turn in a protocol: what its encoders share."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from uuid import UUID, uuid5

import orjson
from django.http import HttpRequest, StreamingHttpResponse

from chat.access import Identity
from chat.api.base import run_with_identity
from chat.api.requests import ProtocolRequest, validate_body
from chat.api.stream import STREAM_HEADERS, start
from chat.errors import ApiError
from chat.events import event_reader

Frame = dict[str, Any]
NAMESPACE = UUID("6b0f6f0e-4c6c-4c39-9a3c-6d1c1f3f6a51")
MAX_ID = 200


class TurnEncoder(ABC):
    """Converts the events of one turn into events of a protocol.

    Protocols frame each text of an answer, and each reasoning: a call of a tool ends one, and the next word begins
    another.
    """

    def __init__(self) -> None:
        self._block_number = 0  # of the open text or reasoning, or of the last one
        self._open = ""  # the type of event to which the open block belongs

    def encode(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        """Yield the events of the protocol for one of ours."""
        if type in ("text", "reasoning"):
            if delta := data.get("delta"):
                yield from self._encode_delta(type, delta)
            return
        if type == "progress":
            return  # no protocol has an event for it
        if type != "operation":
            yield from self._end_block()
        yield from self._encode_event(type, data)

    def frame(self, event: Frame) -> bytes:
        """Return an event as it is sent."""
        return b"data: " + orjson.dumps(event) + b"\n\n"

    def end(self) -> bytes:
        """Return what is sent after the last event."""
        return b""

    def _encode_delta(self, type: str, delta: str) -> Iterator[Frame]:
        if self._open != type:
            yield from self._end_block()
            self._open = type
            self._block_number += 1
            yield from self._begin_text() if type == "text" else self._begin_reasoning()
        yield self._add_text(delta) if type == "text" else self._add_reasoning(delta)

    def _end_block(self) -> Iterator[Frame]:
        if self._open:
            yield from self._end_text() if self._open == "text" else self._end_reasoning()
        self._open = ""

    @abstractmethod
    def _begin_text(self) -> Iterator[Frame]:
        """Yield the events that begin a text."""

    @abstractmethod
    def _add_text(self, delta: str) -> Frame:
        """Return the event of a piece of the open text."""

    @abstractmethod
    def _end_text(self) -> Iterator[Frame]:
        """Yield the events that end a text."""

    @abstractmethod
    def _begin_reasoning(self) -> Iterator[Frame]:
        """Yield the events that begin reasoning."""

    @abstractmethod
    def _add_reasoning(self, delta: str) -> Frame:
        """Return the event of a piece of the open reasoning."""

    @abstractmethod
    def _end_reasoning(self) -> Iterator[Frame]:
        """Yield the events that end reasoning."""

    @abstractmethod
    def _encode_event(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        """Yield the events of the protocol for any other event."""


def build_session_id(subject: str, client_id: Any, *, name: str) -> str:
    """Return the id of the conversation that a client calls by its own id, in the field `name`. Raises ApiError."""
    if not isinstance(client_id, str) or not 0 < len(client_id) <= MAX_ID:
        raise ApiError(400, "invalid_request", f"Send {name}, a text of 1 to {MAX_ID} characters.")
    return str(uuid5(NAMESPACE, f"{subject}\n{client_id}"))


async def stream_new_turn(
    request: HttpRequest,
    client_id: Any,
    fields: Mapping[str, Any],
    encoder: TurnEncoder,
    *,
    names: Mapping[str, str],
    headers: Mapping[str, str] | None = None,
) -> StreamingHttpResponse:
    """Start a turn in the conversation that the client calls by this id, and return its events.

    `fields` are those of ProtocolRequest. `names` are the protocol's, for messages about them and about `session_id`.
    """

    def begin(identity: Identity) -> str:
        session_id = build_session_id(identity.subject, client_id, name=names["session_id"])
        body = validate_body(fields, ProtocolRequest, names=names)
        try:
            return start(identity, body, session_id, creates=True)
        except ApiError as error:
            if error.code != "not_found":
                raise
            text = f"This conversation no longer exists. Send another {names['session_id']} to begin a new one."
            raise ApiError(404, error.code, text) from None

    return respond(await run_with_identity(request, begin, starts_turn=True), encoder, headers)


def respond(turn_id: str, encoder: TurnEncoder, headers: Mapping[str, str] | None = None) -> StreamingHttpResponse:
    """Return the events of a turn from its beginning."""
    return StreamingHttpResponse(
        _encode_turn(turn_id, encoder),
        content_type="text/event-stream; charset=utf-8",
        headers=STREAM_HEADERS | dict(headers or {}),
    )


async def _encode_turn(turn_id: str, encoder: TurnEncoder) -> AsyncIterator[bytes]:
    async for events in event_reader.follow_events(turn_id, 0):
        frames = [
            encoder.frame(frame) for event in events for frame in encoder.encode(event.type, orjson.loads(event.data))
        ]
        yield b"".join(frames) or event_reader.COMMENT
    if last := encoder.end():
        yield last
