"""Give an answer the fields that a model asked for, and a large answer of a remote service a size that it can use.

The upstream decides what it answers, and a page of it can have a hundred thousand tokens. So a model names the fields
that it wants, and an answer over the limit ends after whole rows, with a cursor for the rest, or leaves out whole
fields. Nothing is cut inside a value.

`fields` means the same for every op: exactly these fields, the id of each row, and * for all. Handlers of this process
that know the fields of their rows select them themselves.
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
ALL = "*"
ID = "id"  # comes with every row


@dataclass(frozen=True, slots=True)
class ShapeRequest:
    """What the caller wants of an answer. `cursor` continues an answer that was cut."""

    fields: tuple[str, ...] = ()
    max_tokens: int | None = None
    cursor: str = ""

    @property
    def limits_size(self) -> bool:
        """Whether the caller wants a part of the answer."""
        return bool(self.max_tokens or self.cursor)


@dataclass(frozen=True, slots=True)
class ShapedResponse:
    """The outcome with its shaped result, and the cursor of the rest; empty if nothing is left."""

    outcome: UpstreamResponse
    next_cursor: str = ""


def shape_read(work: UpstreamCall, outcome: UpstreamResponse, request: ShapeRequest) -> ShapedResponse:
    """Return the answer of a read with the fields that were asked for, cut to the limit of tokens.

    Raises InvalidRequestError for fields that the answer does not have, DeadlineExceeded if the call has no time left.
    """
    result, warnings = _select_for_read(work, outcome.result)
    limit = request.max_tokens or settings.GATEWAY_RESULT_TOKENS
    start = _read_cursor(request.cursor, work)
    if start == 0 and token_budget.fits(json_text.dump(result), limit):
        return ShapedResponse(_replace(outcome, result, warnings))
    part = token_budget.cut_json(result, limit, start, work.deadline.get_remaining_ms)
    next_cursor = _build_cursor(part.end, work) if part.end < part.total else ""
    return ShapedResponse(_replace(outcome, part.result, [*warnings, *_warn_cut(part)]), next_cursor)


def shape_write(work: UpstreamCall, outcome: UpstreamResponse) -> UpstreamResponse:
    """Return the answer of a write with the fields that were asked for or that the op shows, cut to the limit.

    The write is done, so that no deadline and no unknown field ends this.
    """
    selection = select_fields(outcome.result, work.fields or work.op.result_fields)
    result, warnings = selection.result, _warn_missing(selection) if work.fields else []
    if token_budget.fits(json_text.dump(result), settings.GATEWAY_RESULT_TOKENS):
        return _replace(outcome, result, warnings)
    part = token_budget.cut_json(result, settings.GATEWAY_RESULT_TOKENS)
    rows = f"Shows rows 1 to {part.end} of {part.total}." if part.end < part.total else ""
    return _replace(outcome, part.result, [*warnings, *filter(None, [rows]), *_warn_dropped(part.dropped)])


def shape_local(work: UpstreamCall, outcome: UpstreamResponse) -> UpstreamResponse:
    """Return the answer of an op of this process with the fields that were asked for, if it did not select them.

    Raises InvalidRequestError for fields that the answer does not have, which also undoes a write.
    """
    if not work.fields or outcome.has_selected_fields:
        return outcome
    result, _ = _select_for_read(work, outcome.result)
    return replace(outcome, result=result)


def refuse_size(op: str, request: ShapeRequest, *, is_write: bool) -> InvalidRequestError:
    """Return the error for an op whose answer has one size."""
    sent = {"max_tokens": request.max_tokens, "cursor": request.cursor}
    reason = "a write answers once" if is_write else "its args may have a limit and a cursor"
    return InvalidRequestError(
        f"{op} does not take max_tokens or cursor outside its args: {reason}.",
        field_errors=[FieldError(f"/{name}", "not_allowed", "Leave it out.") for name, value in sent.items() if value],
    )


@dataclass(frozen=True, slots=True)
class FieldSelection:
    """The selected fields of a result, and the names that it does not have; `known` names some that it has."""

    result: dict[str, Any]
    missing: Sequence[str] = ()
    known: str = ""


def select_fields(result: dict[str, Any], fields: Sequence[str]) -> FieldSelection:
    """Return only these fields of a result and the id of each row; all for none and for *.

    A field is a path of names joined by dots. It leads through every row of a list: items.name. The name alone is
    enough if the result itself has none of this name.
    """
    if not fields or ALL in fields:
        return FieldSelection(result)
    paths = _complete_paths(result, fields)
    found: set[str] = set()
    kept = _keep(result, _build_tree(paths), found)
    missing = [field for field, path in zip(fields, paths, strict=True) if path not in found]
    if len(missing) == len(fields):
        kept = result  # better than nothing, which a model would read as an empty answer
    if [] in result.values():
        missing = []  # its rows may have them, for all that is known
    known = _name_fields(result, missing) if missing else ""
    return FieldSelection(kept if isinstance(kept, dict) else {}, missing, known)


def project_fields(result: dict[str, Any], fields: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return only these fields of a result, and a warning for those that it does not have."""
    selection = select_fields(result, fields)
    return selection.result, _warn_missing(selection)


def _select_for_read(work: UpstreamCall, result: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields that were asked for, or those that the op shows, and warnings about the op's own."""
    if not work.fields:
        return project_fields(result, work.op.result_fields)
    selection = select_fields(result, work.fields)
    if selection.missing:
        unknown = [index for index, name in enumerate(work.fields) if name in selection.missing]
        message = f"The answer has no such field. Choose from {selection.known}, or send {ALL} for all."
        raise InvalidRequestError(
            "Unknown fields.",
            field_errors=[FieldError(f"/fields/{index}", "unknown_field", message) for index in unknown[:MAX_NAMED]],
        )
    return selection.result, []


def _warn_missing(selection: FieldSelection) -> list[str]:
    if not selection.missing:
        return []
    asked = ", ".join(field[:MAX_NAME_LENGTH] for field in selection.missing[:MAX_NAMED])
    return [f"The answer has no {asked}. It has {selection.known}."]


def _complete_paths(result: dict[str, Any], fields: Sequence[str]) -> list[str]:
    """Return the path of each field from the result on: one that the result itself does not have is of its rows."""
    if all(field.partition(".")[0] in result for field in fields):
        return list(fields)
    paths: dict[str, str] = {}  # by each of their ends, the shortest
    for path in islice(_iter_fields(result), MAX_COMPARED):
        names = path.split(".")
        for start in range(1, len(names)):
            end = ".".join(names[start:])
            if end not in paths or start < paths[end].count(".") - end.count("."):
                paths[end] = path
    return [field if field.partition(".")[0] in result else paths.get(field, field) for field in fields]


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
        kept = {
            name: _keep(item, members[name], found) if name in members else item
            for name, item in value.items()
            if name in members or (name == ID and not isinstance(item, dict | list))
        }
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
