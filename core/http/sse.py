"""Answers that arrive piece by piece: server-sent events, and JSON on lines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from core.text import decoding

EVENT_STREAM = "text/event-stream"
LINE_TYPES = frozenset(
    f"application/{name}"
    for name in (
        *("jsonl", "x-jsonl", "jsonlines", "x-jsonlines", "json-lines", "json-seq", "stream+json", "ndjson"),
        *("x-ndjson", "nd-json", "x-json-stream", "geo+json-seq", "jsonlines+json"),
    )
) | {"text/x-ndjson", "text/ndjson", "text/jsonl", "text/x-jsonl", "text/jsonlines"}
STREAM_TYPES = LINE_TYPES | {EVENT_STREAM}
DEFAULT_EVENT = "message"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name ("message" if the stream gives none), its data, and its id or ""."""

    name: str
    data: str
    id: str = ""


def is_stream(headers: Mapping[str, str]) -> bool:
    """Return whether an answer with these headers can be read before it has ended."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() in STREAM_TYPES


def parse_events(body: bytes) -> list[ServerEvent]:
    """Return the events with data in a part of a stream. The last one need not be followed by a blank line."""
    text = decoding.decode(body, "utf-8").text.rstrip("\r\n") + "\n\n"
    request = httpx2.Request("GET", "http://events")  # the parser wants one to name it in errors
    response = httpx2.Response(200, headers={"content-type": EVENT_STREAM}, content=text.encode(), request=request)
    source = httpx2.EventSource(response, max_event_size=None)
    return list(_iter_events(source))


def _iter_events(source: httpx2.EventSource) -> Iterator[ServerEvent]:
    last_id = ""
    for event in source:
        # The parser repeats the last id for all later events.
        id, last_id = event.id if event.id != last_id else "", event.id
        if event.data or event.event != DEFAULT_EVENT:
            yield ServerEvent(event.event, event.data, id)


def split_whole_events(body: bytes) -> tuple[bytes, bytes]:
    """Return the part of a stream up to the end of its last whole event, and the rest."""
    ends = [(body.rfind(blank) + len(blank)) for blank in (b"\n\n", b"\r\n\r\n", b"\r\r") if blank in body]
    end = max(ends, default=0)
    return body[:end], body[end:]
