"""Where in a JSON text something stands, for whoever edits it: offsets by JSON pointer, lines and columns."""

import json
import re
from collections.abc import Iterator

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]|[^\s"\[\]{},:]+')


def offsets(text: str) -> Iterator[tuple[str, int]]:
    """Yield (JSON pointer, offset) of everything within a JSON text, a member where its name stands.

    For texts that a JSON parser takes; a name that stands twice in an object is yielded twice.
    """
    yield "", len(text) - len(text.lstrip())
    above: list[str] = []  # pointers of what is open
    steps: list[int | str | None] = []  # of each: the item that comes next, the member that is read, or None
    for match in _TOKEN.finditer(text):
        mark = match[0]
        if mark in ("]", "}"):
            above.pop()
            steps.pop()
            continue
        if mark == ",":
            steps[-1] = step + 1 if isinstance(step := steps[-1], int) else None
            continue
        if steps and steps[-1] is None:
            steps[-1] = str(json.loads(mark)).replace("~", "~0").replace("/", "~1")
            yield f"{above[-1]}/{steps[-1]}", match.start()
            continue
        pointer = f"{above[-1]}/{steps[-1]}" if steps else ""
        if steps and isinstance(steps[-1], int):
            yield pointer, match.start()
        if mark in ("[", "{"):
            above.append(pointer)
            steps.append(0 if mark == "[" else None)


def nearest(text: str, pointer: str) -> int:
    """Return the offset of what a pointer leads to in a JSON text, or of the last thing on the way that is there."""
    found = dict(offsets(text))
    while pointer not in found:
        pointer = pointer.rpartition("/")[0]
    return found[pointer]


def repeated(text: str) -> int | None:
    """Return the offset of the first name that its object has had before, None where there is none."""
    seen = set[str]()
    for pointer, offset in offsets(text):
        if pointer in seen:
            return offset
        seen.add(pointer)
    return None


def line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of an offset, both counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
