"""Give an answer the fields that a model asked for, and a large answer of a remote service a size that it can use.

The upstream decides what it answers, and a page of it can have a hundred thousand tokens. So a model names the fields
that it wants, and an answer over the limit ends after whole rows, fields or lines, with a cursor for the rest. The
cursor sends a read again. A write is never sent again: the rest of its answer is left out.

`fields` means the same for every op: exactly these fields, the id of each row, and * for all. Handlers of this process
that know the fields of their rows select them themselves.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from django.conf import settings

from core.records import record
from core.text import cutting, json_text, lists, token_budget
from core.text.cutting import Cut, CutPart, Position
from core.text.english import find_similar
from gateway.contracts.errors import FieldError, InvalidRequestError
from gateway.executors.base import UpstreamCall, UpstreamResponse
from registry.text import cleanup

MAX_NAMED = 12  # fields in a warning
MAX_FIELD_DEPTH = 3  # objects within objects whose fields a warning names
MAX_COMPARED = 500  # names of an answer that are compared with one that it does not have
MAX_NAME_LENGTH = 40  # characters
ALL = "*"
ID = "id"  # comes with every row
_POSITION = re.compile(r"[0-9]{1,10}(?:-[0-9]{1,10}){0,63}")
TEXT = "text"  # the member that has an answer that is no data


@record
class ShapeRequest:
    """What the caller wants of an answer. `cursor` continues an answer that was cut."""

    fields: tuple[str, ...] = ()
    max_tokens: int | None = None
    cursor: str = ""

    @property
    def limits_size(self) -> bool:
        """Whether the caller wants a part of the answer."""
        return bool(self.max_tokens or self.cursor)


WHOLE_ANSWER = ShapeRequest()


@record
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
    if not start and token_budget.fits(json_text.dump(result), limit):
        return ShapedResponse(_replace(outcome, result, warnings))
    table = TEXT if outcome.is_table else ""
    part = cutting.cut_value(result, limit, start, table=table, check=work.deadline.get_remaining_ms)
    next_cursor = _build_cursor(part.next, work) if part.next is not None and outcome.can_continue else ""
    warnings += _warn_cut(part, has_cursor=bool(next_cursor))
    return ShapedResponse(_replace(outcome, part.value, warnings), next_cursor)


def shape_write(work: UpstreamCall, outcome: UpstreamResponse) -> UpstreamResponse:
    """Return the answer of a write with the fields that were asked for or that the op shows, cut to the limit.

    The write is done, so that no deadline and no unknown field ends this.
    """
    selection = select_fields(outcome.result, work.fields or work.op.result_fields)
    result, warnings = selection.result, _warn_missing(selection) if work.fields else []
    if token_budget.fits(json_text.dump(result), settings.GATEWAY_RESULT_TOKENS):
        return _replace(outcome, result, warnings)
    part = cutting.cut_value(result, settings.GATEWAY_RESULT_TOKENS, table=TEXT if outcome.is_table else "")
    return _replace(outcome, part.value, [*warnings, *_warn_cut(part, has_cursor=False)])


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


@record
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


def _warn_cut(part: CutPart, *, has_cursor: bool) -> list[str]:
    warnings = []
    if part.next is not None:
        shown = f"Shows {', '.join(map(_describe_cut, part.cuts))}."
        unit = part.cuts[0].unit if part.cuts else "fields"
        smaller = "; for smaller rows, send fields" if unit == "rows" else ""
        rest = f"For more {unit}, send meta.next_cursor as cursor{smaller}."
        warnings.append(f"{shown} {rest if has_cursor else 'The rest of the answer is left out.'}")
    return [*warnings, *_warn_lost(part.lost)]


def _describe_cut(cut: Cut) -> str:
    place = f" in {cleanup.list_names(['.'.join(cut.path)])}" if cut.path else ""
    return f"{cut.unit} {cut.first} to {cut.last} of {cut.total}{place}"


def _warn_lost(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    listed = cleanup.list_names(names, most=MAX_NAMED)
    return [f"Left out, because they are too large: {listed}. Ask for parts of them with fields."]


def _replace(outcome: UpstreamResponse, result: dict[str, Any], warnings: Sequence[str]) -> UpstreamResponse:
    if result is outcome.result and not warnings:
        return outcome
    return replace(outcome, result=result, warnings=(*outcome.warnings, *warnings))


def _build_cursor(position: Position, work: UpstreamCall) -> str:
    return lists.encode_cursor(f"{'-'.join(map(str, position))}.{_digest(work)}")


def _read_cursor(cursor: str, work: UpstreamCall) -> Position:
    """Return where the answer continues. Raises InvalidRequestError."""
    if not cursor:
        return ()
    try:
        position, _, digest = lists.decode_cursor(cursor).partition(".")
        if digest == _digest(work) and _POSITION.fullmatch(position):
            return tuple(map(int, position.split("-")))
    except lists.InvalidCursor:
        pass
    message = "Send the next_cursor of the previous answer, with the same op, args and fields, or leave it out."
    raise InvalidRequestError("Invalid cursor for this call.", field_errors=[FieldError("/cursor", "invalid", message)])


def _digest(work: UpstreamCall) -> str:
    return json_text.hash_canonically([work.op.op, work.args, list(work.fields)])[:12]
