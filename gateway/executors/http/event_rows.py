"""Streams of events as rows of a list, and the progress that they tell while they arrive."""

import time
from math import inf, isfinite
from typing import Any

from core.http import sse
from core.text.lenient_json import LenientReader, UnreadableJSON
from gateway.executors.base import CallWatcher

# Members of an event's data that count, in small letters: what is done, and all that there is.
DONE_NAMES = ("progress", "done", "completed", "current", "processed", "step", "count", "loaded")
TOTAL_NAMES = ("total", "total_steps", "steps", "max")
PERCENT_NAMES = ("percent", "percentage", "percent_complete", "progress_percent")
MAX_HELD_BYTES = 100_000  # of an event whose end has not arrived
TELL_SECONDS = 1.0  # between two times that a caller is told

Progress = dict[str, float]  # {"done", "total"} in the units of the service; total only if it is known


def build_rows(body: bytes, reader: LenientReader, *, is_open: bool = False) -> dict[str, Any]:
    """Return the events of a stream as {"items": rows}, and {"event": name} if all have the same name.

    A row is the data of an event, parsed if it is JSON. If names differ or events have ids, a row is
    {"id", "event", "data"}. Of a stream that goes on, only whole events are read.
    """
    events = sse.parse_events(sse.split_whole_events(body)[0] if is_open else body)
    names = {event.name for event in events}
    if len(names) > 1 or any(event.id for event in events):
        rows = [
            {name: value for name, value in (("id", event.id), ("event", event.name)) if value}
            | {"data": _parse_data(event.data, reader)}
            for event in events
        ]
        return {"items": rows}
    rows = [_parse_data(event.data, reader) for event in events]
    return (
        {"event": name, "items": rows}
        if (name := next(iter(names), sse.DEFAULT_EVENT)) != sse.DEFAULT_EVENT
        else {"items": rows}
    )


def _parse_data(data: str, reader: LenientReader) -> Any:
    try:
        return reader.parse(data)
    except UnreadableJSON:
        return reader.repair(data)


class ProgressFollower:
    """Reads the progress of a stream chunk by chunk. `progress` is the last one, None if the stream tells none."""

    def __init__(self, watcher: CallWatcher | None) -> None:
        self._watcher = watcher
        self._told_at = -inf
        self._rest = b""
        self.progress: Progress | None = None

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of an event stream."""
        whole, self._rest = sse.split_whole_events(self._rest + chunk)
        if len(self._rest) > MAX_HELD_BYTES:
            self._rest = b""
        for event in sse.parse_events(whole) if whole else ():
            if (progress := find_progress(event.data)) is not None and progress != self.progress:
                self.progress = progress
                if self._watcher is not None and time.monotonic() - self._told_at >= TELL_SECONDS:
                    self._told_at = time.monotonic()
                    self._watcher.show_progress(progress)


def find_progress(data: str) -> Progress | None:
    """Return the progress that the data of an event tells; None if it tells none."""
    try:
        value = LenientReader().parse(data)
    except UnreadableJSON:
        return None
    if not isinstance(value, dict):
        return None
    members = {name.lower(): each for name, each in value.items() if _is_number(each)}
    percent = next((members[name] for name in PERCENT_NAMES if name in members), None)
    if percent is not None:
        return {"done": percent, "total": 100}
    done = next((members[name] for name in DONE_NAMES if name in members), None)
    total = next((members[name] for name in TOTAL_NAMES if name in members), None)
    if done is None:
        return None
    return {"done": done} if total is None else {"done": done, "total": total}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
