"""Cut a large JSON value into parts, each within a number of tokens, that together say everything.

A position leads to where the next part begins: the index of a member or row in each value around it, and last the
offset in a text. Values are cut after whole rows, whole members and whole lines; a line that alone is too long is cut
after a word.
"""

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.text import json_text
from core.text.token_budget import MAX_TOKEN_CHARS, count, count_json

Position = tuple[int, ...]
Check = Callable[[], object]

TOLERANCE = 1.1  # how far a part may be over its limit: pieces are counted one by one
MAX_TRIES = 4
CHECK_EVERY = 500  # rows or members
SHARE_AROUND_ONE = 0.75  # of the limit, for small members around the one that is cut; each part repeats them
SHARE_AROUND_MANY = 0.1
MIN_TOKENS = 12  # of a piece of a value: less says nothing
CHARACTERS_PER_TOKEN = 4  # at first, for a line that is cut
MAX_SCANNED = 20_000  # characters that are looked at to find the separator of a table

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a value was cut. `path` are the names that lead there; what is shown is `first` to `last` of `total`.

    Counts begin with 1. `unit` is "rows", "fields", "lines" or, in a text of one line, "characters".
    """

    unit: str
    path: tuple[str, ...]
    first: int
    last: int
    total: int


@dataclass(frozen=True, slots=True)
class CutPart:
    """A part of a value, where the next one begins (None: nothing is left), where it was cut, and what is lost."""

    value: Any
    next: Position | None = None
    cuts: tuple[Cut, ...] = ()
    lost: tuple[str, ...] = ()  # names of members, or "" for a row, that have no room even alone


def _check_nothing() -> None: ...


def cut_value(
    value: dict[str, Any],
    limit: int,
    start: Position = (),
    *,
    table: str = "",
    check: Check = _check_nothing,
) -> CutPart:
    """Return the part of an object from `start` on that has at most `limit` tokens as compact JSON.

    Small members are repeated in each part. `table` names a member of the object whose text is CSV or the like: each
    part of it begins with the first record. Time grows with the size of the value, whatever its shape. `check` is
    called while the work goes on; it raises if there is no time left.
    """
    budget = float(limit)
    for _ in range(MAX_TRIES):
        part = _Cutter(check, table).cut(value, int(budget), start, ())
        size = count_json(part.value)
        if size <= limit * TOLERANCE:
            return part
        budget *= limit / size * 0.9
    return CutPart({}, None, (), tuple(value))


@dataclass(slots=True)
class _Cutter:
    check: Check
    table: str
    _done: int = field(default=0)

    def cut(self, value: Any, limit: int, start: Position, path: tuple[str, ...]) -> CutPart:
        """Return the part of a value that fits; its `value` is None if nothing does."""
        if isinstance(value, dict):
            return self._cut_object(value, limit, start, path)
        if isinstance(value, list):
            return self._cut_list(value, limit, start, path)
        if isinstance(value, str):
            return self._cut_text(value, limit, start, path)
        return CutPart(None, None, (), (path[-1] if path else "",))

    def _cut_object(
        self, value: dict[str, Any], limit: int, start: Position, path: tuple[str, ...], *, is_bare: bool = False
    ) -> CutPart:
        """Cut an object among its large members. If `is_bare`, the small ones are not repeated around them."""
        names = list(value)
        around = {} if is_bare else self._choose_around(value, limit)
        others = [index for index, name in enumerate(names) if name not in around]
        first = start[0] if start else 0
        begin = next((place for place, index in enumerate(others) if index >= first), len(others))
        pieces = [({names[index]: value[names[index]]}, index) for index in others[begin:]]
        left = limit - count_json(around)
        shown: dict[str, Any] = {}
        lost: list[str] = []
        for place, (piece, index) in enumerate(pieces):
            self._tick()
            name = names[index]
            inner = start[1:] if start and index == start[0] else ()
            if not inner and (size := count_within(piece, left)) is not None:
                shown[name] = value[name]
                left -= size
                continue
            part = self.cut(value[name], left - count_json({name: None}), inner, (*path, name))
            if part.value is None and shown:
                part = CutPart(None, ())  # it has more room in the next part
            elif part.value is None and around:
                return self._cut_object(value, limit, start, path, is_bare=True)
            elif part.value is None:
                lost += part.lost or (name,)
                continue
            else:
                shown[name] = part.value
            next_index = index if part.next is not None else index + 1
            is_last = part.next is None and place + 1 == len(pieces)
            following = None if is_last else (next_index, *(part.next or ()))
            merged = {each: around.get(each, shown.get(each)) for each in names if each in around or each in shown}
            done = begin + place + (part.next is None)
            cuts = part.cuts
            if len(others) > 1 and following is not None:
                cuts = (Cut("fields", path, begin + 1, max(done, begin + 1), len(others)), *cuts)
            return CutPart(merged, following, cuts, (*lost, *part.lost))
        merged = {each: around.get(each, shown.get(each)) for each in names if each in around or each in shown}
        if not merged and lost:
            return CutPart(None, None, (), tuple(lost))
        return CutPart(merged, None, (), tuple(lost))

    def _choose_around(self, value: dict[str, Any], limit: int) -> dict[str, Any]:
        """Return the small members, which each part repeats."""
        sizes = []
        for index, (name, item) in enumerate(value.items()):
            self._tick()
            sizes.append((len(name) + measure(item), index, name))
        sizes.sort()
        small = self._take(value, sizes[:-1], limit * SHARE_AROUND_ONE)
        if len(small) == len(sizes) - 1:
            return small
        plain = [each for each in sizes if not isinstance(value[each[2]], dict | list)]
        return self._take(value, plain, limit * SHARE_AROUND_MANY)

    def _take(self, value: dict[str, Any], sizes: Sequence[tuple[int, int, str]], limit: float) -> dict[str, Any]:
        taken: dict[str, Any] = {}
        left = int(limit)
        for _, _, name in sizes:
            size = count_within({name: value[name]}, left)
            if size is None:
                break
            taken[name] = value[name]
            left -= size
        return taken

    def _cut_list(self, rows: list[Any], limit: int, start: Position, path: tuple[str, ...]) -> CutPart:
        begin = min(start[0], len(rows)) if start else 0
        inner = start[1:]
        shown: list[Any] = []
        left = limit - 2  # the brackets
        lost: list[str] = []
        cuts: tuple[Cut, ...] = ()
        index, following = begin, None
        while index < len(rows):
            self._tick()
            size = None if inner else count_within(rows[index], left - 1)
            if size is not None:
                shown.append(rows[index])
                left -= size + 1  # and a comma
                index += 1
                continue
            if shown and not inner:
                break  # it is whole in the next part, or cut there with more room
            part = self.cut(rows[index], left, inner, path)
            cuts = part.cuts
            inner = ()
            if part.value is None:
                lost += part.lost or ("",)
                index += 1
                continue
            lost += part.lost
            shown.append(part.value)
            following = part.next
            index += following is None
            break
        is_done = index >= len(rows)
        position = None if is_done else (index, *(following or ()))
        last = index + (following is not None)
        if not is_done:
            cuts = (Cut("rows", path, begin + 1, max(last, begin + 1), len(rows)), *cuts)
        if not shown and lost and is_done and not start:
            return CutPart(None, None, (), tuple(lost))
        return CutPart(shown, position, cuts, tuple(lost))

    def _cut_text(self, text: str, limit: int, start: Position, path: tuple[str, ...]) -> CutPart:
        if limit < MIN_TOKENS:
            return CutPart(None, None, (), ())
        offset = min(start[0], len(text)) if start else 0
        is_table = bool(self.table) and path == (self.table,)
        records = iterate_records(text, offset) if is_table else iterate_lines(text, offset)
        head = next(iterate_records(text, 0), "") if is_table and offset else ""
        used = count_json(head) if head else 2
        if used > limit * SHARE_AROUND_ONE:
            head, used = "", 2
        end = offset
        for line in records:
            self._tick()
            size = count_within(line, limit - used)
            if size is None:
                break
            used += max(size - 2, 1)  # without its quotes
            end += len(line)
        if end == offset and offset < len(text):
            line = next(iterate_records(text, offset) if is_table else iterate_lines(text, offset))
            end = offset + find_word_end(line, limit - used)
        following = (end,) if end < len(text) else None
        return CutPart(
            head + text[offset:end], following, (_describe_text(text, offset, end, path),) if following else ()
        )

    def _tick(self) -> None:
        if self._done % CHECK_EVERY == 0:
            self.check()
        self._done += 1


def _describe_text(text: str, start: int, end: int, path: tuple[str, ...]) -> Cut:
    if "\n" not in text:
        return Cut("characters", path, start + 1, end, len(text))
    first = text.count("\n", 0, start) + 1
    last = text.count("\n", 0, max(end - 1, start)) + 1
    return Cut("lines", path, first, last, text.count("\n", 0, len(text.rstrip("\n"))) + 1)


def count_within(value: Any, limit: int) -> int | None:
    """Return the tokens of a value as compact JSON, None if more than `limit`. What is far over is not counted."""
    dumped = json_text.dump(value)
    if limit <= 0 or len(dumped) > limit * MAX_TOKEN_CHARS:
        return None
    size = count(dumped)
    return size if size <= limit else None


def measure(value: Any) -> int:
    """Return the bytes of a value as compact JSON."""
    return len(json_text.dump(value))


def iterate_lines(text: str, offset: int) -> Iterator[str]:
    """Yield the lines of a text from an offset on, each with its end."""
    return (match[0] for match in _LINE.finditer(text, offset))


def iterate_records(text: str, offset: int) -> Iterator[str]:
    """Yield the records of a table (RFC 4180) from an offset on, as they are written. Quoted fields can have lines."""
    head = text[:MAX_SCANNED].partition("\n")[0]
    separator = max(",;\t|", key=head.count)
    taken: list[str] = []

    def feed() -> Iterator[str]:
        for line in iterate_lines(text, offset):
            taken.append(line)
            yield line

    reader = csv.reader(feed(), delimiter=separator)
    while True:
        try:
            next(reader)
        except StopIteration:
            break
        except csv.Error:
            pass  # a field that is very long, or a lone carriage return: it is cut by lines
        if taken:
            yield "".join(taken)
            taken.clear()
    if taken:
        yield "".join(taken)


def find_word_end(line: str, limit: int) -> int:
    """Return how many characters of a line to take for a number of tokens: at least one, up to the end of a word."""
    size = max(limit, 1) * CHARACTERS_PER_TOKEN
    piece = line[:size]
    while len(piece) > 1 and (tokens := count_json(piece)) > limit:
        piece = piece[: max(1, int(len(piece) * limit / tokens * 0.95))]
    if len(piece) == len(line):
        return len(line)
    word_end = max(piece.rfind(" "), piece.rfind("\t")) + 1
    return word_end if word_end > len(piece) // 2 else max(len(piece), 1)
