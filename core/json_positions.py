"""Positions in a JSON text: the offset of a JSON pointer (RFC 6901), and its line and column, for error messages."""

import json
import re
from collections.abc import Iterator

from core import json_pointer

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{},]|[^\s"\[\]{},:]+')


def iter_offsets(text: str) -> Iterator[tuple[str, int]]:
    """Yield (JSON pointer, offset) of each value in a JSON text; for an object member, the offset of its name.

    The text must be valid JSON. A name that occurs twice in an object is yielded twice.
    """
    yield "", len(text) - len(text.lstrip())
    open_pointers: list[str] = []  # pointers of the open arrays and objects
    steps: list[int | str | None] = []  # for each: index of the next item, name of the current member, or None
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        if lexeme in ("]", "}"):
            open_pointers.pop()
            steps.pop()
            continue
        if lexeme == ",":
            steps[-1] = step + 1 if isinstance(step := steps[-1], int) else None
            continue
        if steps and steps[-1] is None:
            steps[-1] = json_pointer.escape(str(json.loads(lexeme)))
            yield f"{open_pointers[-1]}/{steps[-1]}", match.start()
            continue
        pointer = f"{open_pointers[-1]}/{steps[-1]}" if steps else ""
        if steps and isinstance(steps[-1], int):
            yield pointer, match.start()
        if lexeme in ("[", "{"):
            open_pointers.append(pointer)
            steps.append(0 if lexeme == "[" else None)


def find_offset(text: str, pointer: str) -> int:
    """Return the offset of the value at a pointer in a JSON text, or of its nearest ancestor that exists."""
    offset_by_pointer = dict(iter_offsets(text))
    while pointer not in offset_by_pointer:
        pointer = pointer.rpartition("/")[0]
    return offset_by_pointer[pointer]


def find_duplicate_key(text: str) -> int | None:
    """Return the offset of the first duplicate name in an object, or None."""
    seen = set[str]()
    for pointer, offset in iter_offsets(text):
        if pointer in seen:
            return offset
        seen.add(pointer)
    return None


def get_line_and_column(text: str, offset: int) -> tuple[int, int]:
    """Return the 1-based line and column of an offset."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
