"""Give a large answer of a remote service the size and the fields that a model can use.

The upstream decides what it answers, and a page of it can have a hundred thousand tokens. So a model names the fields
that it wants, and an answer over the limit ends after whole rows, with a cursor for the rest, or leaves out whole
fields. Nothing is cut inside a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from django.conf import settings

from core import canonical_json, cursors, json_text, tokens
from core.suggestions import find_similar
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.executors.base import UpstreamCall, UpstreamResponse

MAX_LIST_DEPTH = 3  # objects around the list whose rows are cut
MAX_NAMED = 12  # fields in a warning

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShapeRequest:
    """What the caller wants of an answer. `cursor` continues an answer that was cut."""

    fields: tuple[str, ...] = ()
    max_tokens: int | None = None
    cursor: str = ""

    def __bool__(self) -> bool:
        return bool(self.fields or self.max_tokens or self.cursor)


@dataclass(frozen=True, slots=True)
class ShapedResponse:
    """The outcome with its shaped result, and the cursor of the rest; empty if nothing is left."""

    outcome: UpstreamResponse
    next_cursor: str = ""


def shape_read(work: UpstreamCall, outcome: UpstreamResponse, request: ShapeRequest) -> ShapedResponse:
    """Return the answer of a read with the fields that were asked for, cut to the limit of tokens."""
    result, warnings = project(outcome.result, request.fields or work.op.result_fields)
    limit = request.max_tokens or settings.GATEWAY_RESULT_TOKENS
    start = _read_cursor(request.cursor, work)
    if start == 0 and _fits(result, limit):
        return ShapedResponse(_replace(outcome, result, warnings))
    cut, end, more = _cut(result, limit, start)
    next_cursor = _build_cursor(end, work) if end is not None else ""
    return ShapedResponse(_replace(outcome, cut, [*warnings, *more]), next_cursor)


def shape_write(work: UpstreamCall, outcome: UpstreamResponse) -> UpstreamResponse:
    """Return the answer of a write with the fields that the op shows."""
    result, _warnings = project(outcome.result, work.op.result_fields)
    return replace(outcome, result=result)


def refuse_shape(op: str, request: ShapeRequest, *, is_write: bool) -> InvalidRequestError:
    """Return the error for an op whose answer has one shape."""
    sent = {"fields": request.fields, "max_tokens": request.max_tokens, "cursor": request.cursor}
    reason = "a write answers whole" if is_write else "it answers in one shape; its args may have a limit and a cursor"
    return InvalidRequestError(
        f"{op} takes no fields, max_tokens or cursor beside its args: {reason}.",
        field_errors=[FieldError(f"/{name}", "not_allowed", "Leave it out.") for name, value in sent.items() if value],
    )


def project(result: dict[str, Any], fields: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return only these fields of a result, and a warning for those that it does not have.

    A field is a path of names joined by dots. It leads through every row of a list: items.id.
    """
    if not fields:
        return result, []
    paths = [tuple(field.split(".")) for field in fields]
    missing = [field for field, path in zip(fields, paths, strict=True) if not _has(result, path)]
    kept = _keep(result, paths)
    projected = kept if isinstance(kept, dict) else {}
    if not missing:
        return projected, []
    if len(missing) == len(fields):
        projected = result  # better than nothing, which a model would read as an empty answer
    return projected, [f"The answer has no {', '.join(missing)}. It has {_name_fields(result, missing)}."]


def _name_fields(result: dict[str, Any], missing: Sequence[str]) -> str:
    """Return the fields close to those that are missing, and the first of all if one is close to none."""
    known = list(dict.fromkeys(_iter_fields(result)))
    close = [find_similar(field, known) for field in missing]
    names = list(dict.fromkeys([*chain.from_iterable(close), *(() if all(close) else known)]))
    return ", ".join(names[:MAX_NAMED]) + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")


def _has(value: Any, path: Path) -> bool:
    if isinstance(value, list):
        return not value or any(_has(item, path) for item in value)
    return not path or (isinstance(value, dict) and path[0] in value and _has(value[path[0]], path[1:]))


def _keep(value: Any, paths: Sequence[Path]) -> Any:
    if any(not path for path in paths):
        return value
    if isinstance(value, list):
        return [_keep(item, paths) for item in value]
    if not isinstance(value, dict):
        return value
    wanted: dict[str, list[Path]] = {}
    for path in paths:
        wanted.setdefault(path[0], []).append(path[1:])
    return {name: _keep(item, wanted[name]) for name, item in value.items() if name in wanted}


def _iter_fields(value: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths of the fields of a result, of the first row of each list."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict) and depth <= MAX_LIST_DEPTH:
        for name, item in value.items():
            yield prefix + name
            yield from _iter_fields(item, f"{prefix}{name}.", depth + 1)


def _cut(result: dict[str, Any], limit: int, start: int) -> tuple[dict[str, Any], int | None, list[str]]:
    """Return the result within the limit, the index of the row that comes next (None: no more), and warnings."""
    path = _find_largest_list(result)
    if path is None:
        fitted, dropped = _drop_fields(result, limit)
        return fitted, None, _warn_dropped(dropped)
    rows = _get(result, path)
    around = _count(_set(result, path, []))
    end, used = start, around
    while end < len(rows) and (used := used + _count(rows[end])) <= limit:
        end += 1
    shown, dropped = rows[start:end], []
    if not shown and start < len(rows):  # one row alone is over the limit
        row, dropped = _drop_fields(rows[start], max(limit - around, 1))
        shown, end = [row], start + 1
    cut = _set(result, path, shown)
    if end >= len(rows):
        return cut, None, _warn_dropped(dropped)
    shown_rows = f"Shows rows {start + 1} to {end} of {len(rows)} in {'.'.join(path)}"
    message = f"{shown_rows}: send meta.next_cursor as cursor for more, or fields for less of each."
    return cut, end, [message, *_warn_dropped(dropped)]


def _find_largest_list(result: dict[str, Any]) -> Path | None:
    sizes = {path: len(json_text.dump(rows)) for path, rows in _iter_lists(result, ())}
    return max(sizes, key=lambda path: sizes[path], default=None)


def _iter_lists(value: Any, path: Path) -> Iterator[tuple[Path, list[Any]]]:
    if isinstance(value, list) and len(value) > 1:
        yield path, value
    elif isinstance(value, dict) and len(path) < MAX_LIST_DEPTH:
        for name, item in value.items():
            yield from _iter_lists(item, (*path, name))


def _drop_fields(value: Any, limit: int) -> tuple[Any, list[str]]:
    """Return an object without its largest fields, so that it is within the limit, and the names of those."""
    if not isinstance(value, dict):
        return value, []
    sizes = sorted(((_count(item), name) for name, item in value.items()), reverse=True)
    left, dropped = _count(value), []
    for size, name in sizes:
        if left <= limit:
            break
        left -= size
        dropped.append(name)
    return {name: item for name, item in value.items() if name not in dropped}, dropped


def _warn_dropped(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    return [f"Left out, because they are too large: {', '.join(names[:MAX_NAMED])}. Ask for parts of them with fields."]


def _get(value: Mapping[str, Any], path: Path) -> list[Any]:
    item: Any = value
    for name in path:
        item = item[name]
    rows: list[Any] = item
    return rows


def _set(value: dict[str, Any], path: Path, rows: list[Any]) -> dict[str, Any]:
    name, *rest = path
    return {**value, name: _set(value[name], tuple(rest), rows) if rest else rows}


def _fits(result: dict[str, Any], limit: int) -> bool:
    """Return whether a result is within the limit. No token is shorter than a byte, so most need not be counted."""
    text = json_text.dump(result)
    return len(text) <= limit or tokens.count(text.decode()) <= limit


def _count(value: Any) -> int:
    return tokens.count(json_text.dump(value).decode())


def _replace(outcome: UpstreamResponse, result: dict[str, Any], warnings: Sequence[str]) -> UpstreamResponse:
    return replace(outcome, result=result, warnings=(*outcome.warnings, *warnings))


def _build_cursor(index: int, work: UpstreamCall) -> str:
    return cursors.encode(f"{index}.{_digest(work)}")


def _read_cursor(cursor: str, work: UpstreamCall) -> int:
    """Return the index of the row with which the answer goes on. Raises InvalidRequestError."""
    if not cursor:
        return 0
    try:
        index, _, digest = cursors.decode(cursor).partition(".")
        if digest == _digest(work) and index.isdecimal():
            return int(index)
    except cursors.InvalidCursor:
        pass
    message = "Send the next_cursor of the answer before, with the same op and args, or leave it out."
    raise InvalidRequestError(
        "The cursor belongs to no answer of this call.", field_errors=[FieldError("/cursor", "invalid", message)]
    )


def _digest(work: UpstreamCall) -> str:
    return canonical_json.digest([work.op.op, work.args])[:12]
