"""Count tokens, and make text and JSON fit a number of them.

The vocabulary is o200k_base, which ships in the tokenizer's wheel and works offline.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

import splintr

from core.text import json_text

MAX_TOKEN_CHARS = 128  # no token is longer
MAX_COUNTED_CHARS = 100_000  # about 10 ms
NOTE_TOKENS = 40
MAX_LIST_DEPTH = 3  # objects around the list whose rows are cut
TOLERANCE = 1.1  # how far JSON may be over its limit: parts are counted one by one
MAX_TRIES = 4
CHECK_EVERY = 500  # rows or members
SHARE_OF_REST = 0.75  # of the limit, for what surrounds the list

T = TypeVar("T")
Path = tuple[str, ...]
Check = Callable[[], object]


@cache
def _tokenizer() -> splintr.AnyTokenizer:
    # Loaded on first use (32 ms, 32 MB), so that processes that serve no toolsets do not pay for it.
    return splintr.Tokenizer.from_pretrained("o200k_base")


def count(text: str | bytes) -> int:
    """Return the number of tokens in a text. Names of special tokens count as ordinary text."""
    return len(_tokenizer().encode_ordinary(text if isinstance(text, str) else text.decode()))


def count_json(value: Any) -> int:
    """Return the tokens of a value as compact JSON, as it is sent."""
    return count(json_text.dump(value))


def estimate(text: str) -> int:
    """Return the tokens of a text. For a very long one, it is a low estimate that takes no time."""
    return count(text) if len(text) <= MAX_COUNTED_CHARS else len(text) // 8


def fits(text: str | bytes, limit: int) -> bool:
    """Return whether a text has at most `limit` tokens. What obviously fits or does not is not counted."""
    if len(text) > limit * MAX_TOKEN_CHARS:
        return False
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "replace"))
    return size <= limit or count(text) <= limit  # no token is shorter than a byte


def render_to_fit(render: Callable[[T], str], sizes: Iterable[T], *, budget: int) -> str:
    """Return the text of the first size that fits the budget, or of the last one. Sizes go from large to small."""
    text = ""
    for size in sizes:
        text = render(size)
        if fits(text, budget):
            break
    return text


def find_longest_beginning(length: int, is_fitting: Callable[[int], bool]) -> int:
    """Return the largest number of characters, at most `length`, that fits; 0 if none does."""
    shortest, longest = 0, max(length, 0)
    while shortest < longest:
        middle = (shortest + longest + 1) // 2
        if is_fitting(middle):
            shortest = middle
        else:
            longest = middle - 1
    return shortest


@dataclass(frozen=True, slots=True)
class FittedLines:
    """Lines that fit, as one text, and whether some were left out."""

    text: str
    is_cut: bool


def fit_lines(lines: Sequence[str], *, budget: int, note: Callable[[int], str]) -> FittedLines:
    """Return the lines, or the first ones that fit with a last line that says how many are missing.

    `note` makes that line, of at most 40 tokens.
    """
    if fits(text := "\n".join(lines), budget):
        return FittedLines(text, is_cut=False)
    room, shown = budget - NOTE_TOKENS, 0
    for line in lines:
        if not fits(line, room - 1):
            break
        room -= count(f"{line}\n")
        shown += 1
    return FittedLines("\n".join([*lines[:shown], note(len(lines) - shown)]), is_cut=True)


@dataclass(frozen=True, slots=True)
class CutResult:
    """An object within its limit. `path` leads to the list that was cut, from row `start` to `end` of `total`."""

    result: dict[str, Any]
    dropped: list[str] = field(default_factory=list)  # names of members that were left out
    path: Path = ()
    start: int = 0
    end: int = 0
    total: int = 0
    lost_rows: int = 0  # rows that are too large by themselves


def _check_nothing() -> None: ...


def cut_json(result: dict[str, Any], limit: int, start: int = 0, check: Check = _check_nothing) -> CutResult:
    """Return an object within the limit: rows of its largest list from `start` on, then its smallest members.

    Time grows with its size, whatever its shape. `check` is called while the work goes on; it raises if the caller has
    no time left.
    """
    budget = float(limit)
    for _ in range(MAX_TRIES):
        part = _cut_once(result, int(budget), start, check)
        size = count_json(part.result)
        if size <= limit * TOLERANCE:
            return part
        budget *= limit / size * 0.9
    return CutResult({}, dropped=list(result))


def fit_members(value: dict[str, Any], limit: int, check: Check) -> tuple[dict[str, Any], list[str]]:
    """Return an object with its smallest members that fit, and the names of the others.

    The smallest of the others is kept in part if it is a list or an object.
    """
    sizes = []
    for index, (name, item) in enumerate(value.items()):
        if index % CHECK_EVERY == 0:
            check()
        sizes.append((count_json({name: item}), index, name))
    sizes.sort()
    kept: dict[str, Any] = {}
    left = limit
    for place, (size, _, name) in enumerate(sizes):
        if size > left:
            others = [name for _, _, name in sizes[place:]]
            break
        kept[name] = value[name]
        left -= size
    else:
        return value, []
    partial = next((name for name in others if isinstance(value[name], dict | list)), None)
    if partial is not None:
        part = _fit_part(value[partial], left - count_json({partial: None}), check)
        if part:
            kept[partial] = part
    return {name: kept[name] for name in value if name in kept}, others


def _fit_part(value: dict[str, Any] | list[Any], limit: int, check: Check) -> Any:
    """Return the part of a list or an object that fits; an empty one if nothing does."""
    if isinstance(value, dict):
        return fit_members(value, limit, check)[0]
    return value[: find_last_row(value, limit, 0, check)]


def _cut_once(result: dict[str, Any], limit: int, start: int, check: Check) -> CutResult:
    path = _find_largest_list(result)
    if path is None:
        return CutResult(*fit_members(result, limit, check))
    rows = _get(result, path)
    around, dropped = _set(result, path, []), list[str]()
    used = count_json(around)
    if used > limit * SHARE_OF_REST:
        around, dropped = fit_members(around, int(limit * SHARE_OF_REST), check)
        around = _set(around, path, [])
        used = count_json(around)
    end = find_last_row(rows, limit - used, start, check)
    shown, lost = rows[start:end], 0
    if not shown and start < len(rows):  # one row alone is over the limit
        end = start + 1
        row, names = fit_members(rows[start], limit - used, check) if isinstance(rows[start], dict) else ({}, [])
        dropped += names
        shown, lost = ([row], 0) if row else ([], 1)
    return CutResult(_set(around, path, shown), dropped, path, start, end, len(rows), lost)


def find_last_row(rows: Sequence[Any], limit: int, start: int = 0, check: Check = _check_nothing) -> int:
    """Return the index after the last row that fits, from `start` on."""
    end, used = start, 0
    while end < len(rows):
        if end % CHECK_EVERY == 0:
            check()
        size = count_json(rows[end]) + 1  # and a comma
        if used + size > limit:
            break
        end, used = end + 1, used + size
    return end


def _find_largest_list(result: dict[str, Any]) -> Path | None:
    sizes = {path: len(json_text.dump(rows)) for path, rows in _iter_lists(result, ())}
    return max(sizes, key=lambda path: sizes[path], default=None)


def _iter_lists(value: Any, path: Path) -> Iterator[tuple[Path, list[Any]]]:
    if isinstance(value, list) and len(value) > 1:
        yield path, value
    elif isinstance(value, dict) and len(path) < MAX_LIST_DEPTH:
        for name, item in value.items():
            yield from _iter_lists(item, (*path, name))


def _get(value: Mapping[str, Any], path: Path) -> list[Any]:
    item: Any = value
    for name in path:
        item = item[name]
    rows: list[Any] = item
    return rows


def _set(value: dict[str, Any], path: Path, rows: list[Any]) -> dict[str, Any]:
    name, *rest = path
    return {**value, name: _set(value.get(name, {}), tuple(rest), rows) if rest else rows}
