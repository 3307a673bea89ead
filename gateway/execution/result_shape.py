"""Give a large answer of a remote service the size and the fields that a model can use.

The upstream decides what it answers, and a page of it can have a hundred thousand tokens. So a model names the fields
that it wants, and an answer over the limit ends after whole rows, with a cursor for the rest, or leaves out whole
fields. Nothing is cut inside a value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from django.conf import settings

from core.text import json_text, lists, token_budget
from core.text.english import find_similar
from core.text.token_budget import CutResult
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.text import cleanup

MAX_NAMED = 12  # fields in a warning
MAX_FIELD_DEPTH = 3  # objects within objects whose fields a warning names
MAX_COMPARED = 500  # names of an answer that are compared with one that it does not have
MAX_NAME_LENGTH = 40  # characters


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
    """Return the answer of a read with the fields that were asked for, cut to the limit of tokens.

    Raises DeadlineExceeded if the call has no time left.
    """
    result, warnings = project_fields(outcome.result, request.fields or work.op.result_fields)
    limit = request.max_tokens or settings.GATEWAY_RESULT_TOKENS
    start = _read_cursor(request.cursor, work)
    if start == 0 and token_budget.fits(json_text.dump(result), limit):
        return ShapedResponse(_replace(outcome, result, warnings))
    part = token_budget.cut_json(result, limit, start, work.deadline.get_remaining_ms)
    next_cursor = _build_cursor(part.end, work) if part.end < part.total else ""
    return ShapedResponse(_replace(outcome, part.result, [*warnings, *_warn_cut(part)]), next_cursor)


def shape_write(work: UpstreamCall, outcome: UpstreamResponse) -> UpstreamResponse:
    """Return the answer of a write with the fields that the op shows, cut to the limit of tokens.

    The write is done, so that no deadline ends this.
    """
    result, _warnings = project_fields(outcome.result, work.op.result_fields)
    if token_budget.fits(json_text.dump(result), settings.GATEWAY_RESULT_TOKENS):
        return replace(outcome, result=result)
    part = token_budget.cut_json(result, settings.GATEWAY_RESULT_TOKENS)
    rows = f"Shows rows 1 to {part.end} of {part.total}." if part.end < part.total else ""
    return _replace(outcome, part.result, [*filter(None, [rows]), *_warn_dropped(part.dropped)])


def refuse_shape(op: str, request: ShapeRequest, *, is_write: bool) -> InvalidRequestError:
    """Return the error for an op whose answer has one shape."""
    sent = {"fields": request.fields, "max_tokens": request.max_tokens, "cursor": request.cursor}
    reason = (
        "a write always answers in full"
        if is_write
        else "its answer has a fixed shape; its args may have a limit and a cursor"
    )
    return InvalidRequestError(
        f"{op} does not take fields, max_tokens or cursor outside its args: {reason}.",
        field_errors=[FieldError(f"/{name}", "not_allowed", "Leave it out.") for name, value in sent.items() if value],
    )


def project_fields(result: dict[str, Any], fields: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return only these fields of a result, and a warning for those that it does not have.

    A field is a path of names joined by dots. It leads through every row of a list: items.id.
    """
    if not fields:
        return result, []
    wanted = _build_tree(fields)
    found: set[str] = set()
    kept = _keep(result, wanted, found)
    projected = kept if isinstance(kept, dict) else {}
    missing = [field for field in fields if field not in found]
    if not missing:
        return projected, []
    if len(missing) == len(fields):
        projected = result  # better than nothing, which a model would read as an empty answer
    asked = ", ".join(field[:MAX_NAME_LENGTH] for field in missing[:MAX_NAMED])
    return projected, [f"The answer has no {asked}. It has {_name_fields(result, missing)}."]


@dataclass(slots=True)
class _FieldTree:
    """Fields that were asked for, by their next name. `through` has all that lead here, `ends` those that end here."""

    members: dict[str, "_FieldTree"] = field(default_factory=dict)
    through: list[str] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)


def _build_tree(fields: Sequence[str]) -> _FieldTree:
    root = _FieldTree()
    for each in fields:
        node = root
        for name in each.split("."):
            node = node.members.setdefault(name, _FieldTree())
            node.through.append(each)
        node.ends.append(each)
    return root


def _keep(value: Any, wanted: _FieldTree, found: set[str]) -> Any:
    """Return what was asked for of a value, in one walk, and add the fields that it has to `found`."""
    kept = value
    if wanted.members and isinstance(value, list):
        kept = [_keep(item, wanted, found) for item in value]
        found.update(() if value else wanted.through)  # rows that may have them, for all that is known
    elif wanted.members and isinstance(value, dict):
        members = wanted.members
        kept = {name: _keep(item, members[name], found) for name, item in value.items() if name in members}
    found.update(wanted.ends)
    return value if wanted.ends else kept


def _name_fields(result: dict[str, Any], missing: Sequence[str]) -> str:
    """Return the fields close to those that are missing, and the first of all if one is close to none."""
    known = list(dict.fromkeys(_iter_fields(result)))
    short = [name for name in islice(known, MAX_COMPARED) if len(name) <= MAX_NAME_LENGTH]  # only those are shown
    close = [find_similar(field, short) for field in missing[:MAX_NAMED] if len(field) <= MAX_NAME_LENGTH]
    return cleanup.list_names([*chain.from_iterable(close), *(() if all(close) else known)], most=MAX_NAMED)


def _iter_fields(value: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths of the fields of a result, of the first row of each list."""
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict) and depth <= MAX_FIELD_DEPTH:
        for name, item in value.items():
            yield prefix + name
            yield from _iter_fields(item, f"{prefix}{name}.", depth + 1)


def _warn_cut(part: CutResult) -> list[str]:
    warnings = []
    if part.end < part.total:
        rows = (
            f"Shows rows {part.start + 1} to {part.end} of {part.total} in {cleanup.list_names(['.'.join(part.path)])}"
        )
        warnings.append(f"{rows}. For more rows, send meta.next_cursor as cursor; for smaller rows, send fields.")
    if part.lost_rows:
        warnings.append(f"Row {part.end} is left out, because it is too large. Ask for parts of it with fields.")
    return [*warnings, *_warn_dropped(part.dropped)]


def _warn_dropped(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = cleanup.list_names(names, most=MAX_NAMED)
    return [f"Left out, because they are too large: {listed}. Ask for parts of them with fields."]


def _replace(outcome: UpstreamResponse, result: dict[str, Any], warnings: Sequence[str]) -> UpstreamResponse:
    return replace(outcome, result=result, warnings=(*outcome.warnings, *warnings))


def _build_cursor(index: int, work: UpstreamCall) -> str:
    return lists.encode_cursor(f"{index}.{_digest(work)}")


def _read_cursor(cursor: str, work: UpstreamCall) -> int:
    """Return the index of the row where the answer continues. Raises InvalidRequestError."""
    if not cursor:
        return 0
    try:
        index, _, digest = lists.decode_cursor(cursor).partition(".")
        if digest == _digest(work) and index.isdecimal():
            return int(index)
    except lists.InvalidCursor:
        pass
    message = "Send the next_cursor of the previous answer, with the same op and args, or leave it out."
    raise InvalidRequestError("Invalid cursor for this call.", field_errors=[FieldError("/cursor", "invalid", message)])


def _digest(work: UpstreamCall) -> str:
    return json_text.hash_canonically([work.op.op, work.args])[:12]
