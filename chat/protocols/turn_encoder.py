"""What encoders of all protocols share: texts that begin and end, and events as Server-Sent Events."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

Frame = dict[str, Any]


class TurnEncoder(ABC):
    """Turns the events of one turn into those of a protocol.

    Protocols frame each text of an answer: a call of a tool ends one, and the next word begins another.
    """

    def __init__(self) -> None:
        self._text_number = 0  # of the open text, or of the last one
        self._is_text_open = False

    def encode(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        """Yield the events of the protocol for one of ours."""
        if type == "text":
            if delta := data.get("delta"):
                yield from self._encode_delta(delta)
            return
        if type != "operation" and self._is_text_open:
            self._is_text_open = False
            yield self._end_text()
        yield from self._encode_event(type, data)

    def frame(self, event: Frame) -> bytes:
        """Return an event as it is sent."""
        return b"data: " + orjson.dumps(event) + b"\n\n"

    def end(self) -> bytes:
        """Return what is sent after the last event."""
        return b""

    def _encode_delta(self, delta: str) -> Iterator[Frame]:
        if not self._is_text_open:
            self._is_text_open = True
            self._text_number += 1
            yield self._begin_text()
        yield self._add_text(delta)

    @abstractmethod
    def _begin_text(self) -> Frame:
        """Return the event that begins a text."""

    @abstractmethod
    def _add_text(self, delta: str) -> Frame:
        """Return the event of a piece of the open text."""

    @abstractmethod
    def _end_text(self) -> Frame:
        """Return the event that ends a text."""

    @abstractmethod
    def _encode_event(self, type: str, data: Mapping[str, Any]) -> Iterator[Frame]:
        """Yield the events of the protocol for any other event."""
