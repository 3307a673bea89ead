"""Cut an answer to a number of tokens: rows of its largest list first, then whole members, the largest first.

Time grows with the size of the answer, whatever its shape. The caller's `check` is called while the work goes on; it
raises if the call has no time left.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.text import json_text, token_budget

MAX_LIST_DEPTH = 3  # objects around the list whose rows are cut
TOLERANCE = 1.1  # how far an answer may be over its limit: parts are counted one by one
MAX_TRIES = 4
CHECK_EVERY = 500  # rows or members
SHARE_OF_REST = 0.75  # of the limit, for what stands around the list

Path = tuple[str, ...]
Check = Callable[[], object]


@dataclass(frozen=True, slots=True)
class CutResult:
    """An answer within its limit. `path` leads to the list that was cut, from row `start` to `end` of `total`."""

    result: dict[str, Any]
    dropped: list[str] = field(default_factory=list)  # names of members that were left out
    path: Path = ()
    start: int = 0
    end: int = 0
    total: int = 0
    lost_rows: int = 0  # rows that are too large by themselves


def fits(result: dict[str, Any], limit: int) -> bool:
    """Return whether a result is within the limit. No token is shorter than a byte, so most need not be counted."""
    text = json_text.dump(result)
    return len(text) <= limit or token_budget.count(text.decode()) <= limit


def cut(result: dict[str, Any], limit: int, start: int, check: Check) -> CutResult:
    """Return a result within the limit, from a row of its largest list on."""
    budget = float(limit)
    for _ in range(MAX_TRIES):
        part = _cut_once(result, int(budget), start, check)
        size = _count(part.result)
        if size <= limit * TOLERANCE:
            return part
        budget *= limit / size * 0.9
    return CutResult({}, dropped=list(result))


def fit_members(value: dict[str, Any], limit: int, check: Check) -> tuple[dict[str, Any], list[str]]:
    """Return an object with its smallest members, as far as they fit, and the names of the others.

    The smallest of the others is kept in part if it is a list or an object.
    """
    sizes = []
    for index, (name, item) in enumerate(value.items()):
        if index % CHECK_EVERY == 0:
            check()
        sizes.append((_count({name: item}), index, name))
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
        part = _fit_part(value[partial], left - _count({partial: None}), check)
        if part:
            kept[partial] = part
    return {name: kept[name] for name in value if name in kept}, others


def _fit_part(value: dict[str, Any] | list[Any], limit: int, check: Check) -> Any:
    """Return the part of a list or an object that fits; an empty one if nothing does."""
    if isinstance(value, dict):
        return fit_members(value, limit, check)[0]
    end, _ = _count_rows(value, 0, limit, check)
    return value[:end]


def _cut_once(result: dict[str, Any], limit: int, start: int, check: Check) -> CutResult:
    path = _find_largest_list(result)
    if path is None:
        return CutResult(*fit_members(result, limit, check))
    rows = _get(result, path)
    around, dropped = _set(result, path, []), list[str]()
    used = _count(around)
    if used > limit * SHARE_OF_REST:
        around, dropped = fit_members(around, int(limit * SHARE_OF_REST), check)
        around = _set(around, path, [])
        used = _count(around)
    end, _ = _count_rows(rows, start, limit - used, check)
    shown, lost = rows[start:end], 0
    if not shown and start < len(rows):  # one row alone is over the limit
        end = start + 1
        row, names = fit_members(rows[start], limit - used, check) if isinstance(rows[start], dict) else ({}, [])
        dropped += names
        shown, lost = ([row], 0) if row else ([], 1)
    return CutResult(_set(around, path, shown), dropped, path, start, end, len(rows), lost)


def _count_rows(rows: list[Any], start: int, limit: int, check: Check) -> tuple[int, int]:
    """Return the index after the last row that fits, from `start` on, and the tokens of these rows."""
    end, used = start, 0
    while end < len(rows):
        if end % CHECK_EVERY == 0:
            check()
        size = _count(rows[end]) + 1  # and a comma
        if used + size > limit:
            break
        end, used = end + 1, used + size
    return end, used


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


def _count(value: Any) -> int:
    return token_budget.count(json_text.dump(value).decode())
