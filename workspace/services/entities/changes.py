"""What a write changed, as data and in words."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import models

from core.handler_contract import ArgumentError
from core.text import json_text
from workspace.entity_types import EntityType
from workspace.models import Entity
from workspace.models.base import TagsField
from workspace.services.time import times

Parser = tuple[Callable[[str], Any], str]  # a parser that raises ValueError, and what it expects
PARSERS: dict[type, Parser] = {
    models.DateTimeField: (times.parse_time, times.EXPECTED),
    models.DateField: (date.fromisoformat, times.EXPECTED_DATE),
    models.ForeignKey: (UUID, "a UUID"),
}
MAX_LENGTH = 40  # characters of a value that is shown; for a longer text, the message gives its length
TIME_ENDINGS = ("_at", "_until")  # of the names of fields with times
MAX_KEYS = 5  # of an object; the message names those that changed


def assign_fields(
    row: Entity, *, kind: EntityType, sent: Mapping[str, Any], at: datetime, pointer: str = ""
) -> list[ArgumentError]:
    """Set the fields that were sent, and the completion time. Does not save the row.

    Returns all errors. `pointer` is the JSON pointer of `sent` in the call's args.
    """
    names = [name for name in kind.fields if name in sent]
    errors = [
        error for name in names if (error := _set_field(row, name, sent[name], kind=kind, path=f"{pointer}/{name}"))
    ]
    if not errors:
        errors = _check_order(row, kind=kind, sent=sent, pointer=pointer)
        errors += _clear_dependent_fields(row, kind=kind, sent=sent, pointer=pointer)
    update_completion_stamp(row, kind=kind, at=at)
    return errors


def update_completion_stamp(row: Entity, *, kind: EntityType, at: datetime) -> None:
    """Set the completion time when the row enters its final state, and clear it when the row leaves it."""
    if kind.completion_stamp is None:
        return
    state, column = kind.completion_stamp
    if row.state_key != state:
        setattr(row, column, None)
    elif getattr(row, column) is None:
        setattr(row, column, at)


def get_changed_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields whose JSON values differ: 1 equals 1.0 but not true."""
    return [name for name in after if json_text.canonicalize(before[name]) != json_text.canonicalize(after[name])]


def _set_field(row: Entity, name: str, value: Any, *, kind: EntityType, path: str) -> ArgumentError | None:
    """Set one field, or return an error if the value is invalid."""
    column = kind.model._meta.get_field(name)
    if name == "props":
        row.props = _merge_props(row.props, value)
    elif isinstance(column, TagsField):
        setattr(row, name, _merge_tags(getattr(row, name), value))
    elif name in kind.nullable_texts:
        setattr(row, name, value or "")
    elif name == kind.label and not value.strip():
        return ArgumentError(path=path, code="blank", message=f"{name} is blank; send at least one visible character.")
    elif value is not None and type(column) in PARSERS:
        return _set_parsed(row, name, value, path=path, parser=PARSERS[type(column)])
    else:
        setattr(row, name, value)
    return None


def _set_parsed(row: Entity, name: str, text: str, *, path: str, parser: Parser) -> ArgumentError | None:
    parse, expected = parser
    try:
        setattr(row, name, parse(text))
    except ValueError:
        message = f"{name} is not a valid time; send {expected}."
        return ArgumentError(path=path, code="impossible_time", message=message, expected=expected)
    return None


def _merge_tags(old: list[str], sent: list[str] | None) -> list[str]:
    """Return the tags sent, without duplicates. As for all lists, an empty list changes nothing and null clears."""
    return [] if sent is None else list(dict.fromkeys(sent)) or old


def _merge_props(props: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """Merge one level deep. Null removes a key."""
    return {key: value for key, value in (props | sent).items() if key not in sent or value is not None}


def _check_order(row: Entity, *, kind: EntityType, sent: Mapping[str, Any], pointer: str) -> list[ArgumentError]:
    if kind.span_columns is None:
        return []
    start, end = kind.span_columns
    start_value, end_value = getattr(row, start), getattr(row, end)
    if start_value is None or end_value is None or start_value <= end_value:
        return []
    argument = end if end in sent else start
    message = f"{end} is before {start}; send a later {end} or an earlier {start}."
    swap = (start, end) if not pointer and start in sent and end in sent else None
    return [ArgumentError(path=f"{pointer}/{argument}", code="out_of_order", message=message, swap=swap)]


def _clear_dependent_fields(
    row: Entity, *, kind: EntityType, sent: Mapping[str, Any], pointer: str
) -> list[ArgumentError]:
    """Clear the fields whose required field is empty. Returns an error for each of them that was sent."""
    errors = []
    for name, needed in kind.required_columns.items():
        if getattr(row, needed):
            continue
        if sent.get(name) is not None:
            message = f"{name} requires {needed}; also send {needed}, or leave out {name}."
            errors.append(ArgumentError(path=f"{pointer}/{name}", code=f"no_{needed}", message=message))
        setattr(row, name, None)
    return errors


def describe_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], names: Iterable[str], *, zone: ZoneInfo | None = None
) -> str:
    """Return each of these fields with its old and its new value: `state_key todo → done, priority 3 → 1`.

    The values are those of answers. With a zone, times are shown in it.
    """
    values = [(name, *(_convert_to_zone(name, each.get(name), zone) for each in (before, after))) for name in names]
    return ", ".join(f"{name} {_describe_change(old, new)}" for name, old, new in values)


def _convert_to_zone(name: str, value: Any, zone: ZoneInfo | None) -> Any:
    if zone and isinstance(value, str) and name.endswith(TIME_ENDINGS):
        with suppress(ValueError):
            return times.format_time(times.parse_time(value), zone=zone)
    return value


def _describe_change(old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted(key for key in old.keys() | new.keys() if not _is_same(old.get(key), new.get(key)))
        return f"({', '.join(keys[:MAX_KEYS])}{', …' if len(keys) > MAX_KEYS else ''})"
    if _is_long(old) or _is_long(new):
        fate = f", old text {'kept' if old in new else 'replaced'}" if old and new else ""
        return f"({_get_length(old):,} → {_get_length(new):,} characters{fate})"
    return f"{_format_value(old)} → {_format_value(new)}"


def _is_same(old: Any, new: Any) -> bool:
    return json_text.canonicalize(old) == json_text.canonicalize(new)  # 1 is not true


def _is_long(value: Any) -> bool:
    return isinstance(value, str) and (len(value) > MAX_LENGTH or "\n" in value)


def _get_length(value: Any) -> int:
    return len(value) if isinstance(value, str) else 0


def _format_value(value: Any) -> str:
    if value in (None, "", [], {}):
        return "none"
    if isinstance(value, list):
        text = ", ".join(map(str, value))
        return f"[{text}]" if len(text) <= MAX_LENGTH else f"[{len(value)} items]"
    if isinstance(value, str):
        return f"“{value}”" if " " in value or value.endswith(".") else value
    return json.dumps(value)
