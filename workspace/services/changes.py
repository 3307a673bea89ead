"""Setting the fields of a row from a call's arguments."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db import models

from core import canonical
from workspace.errors import FieldError
from workspace.kinds import Kind
from workspace.models import Entity
from workspace.models.tags import TagsField
from workspace.services import times

Reader = tuple[Callable[[str], Any], str]  # a parser that raises ValueError, and what it expects

READERS: dict[type, Reader] = {
    models.DateTimeField: (times.read, times.EXPECTED),
    models.DateField: (date.fromisoformat, times.EXPECTED_DATE),
    models.ForeignKey: (UUID, "a UUID"),
}


def assign(row: Entity, *, kind: Kind, sent: Mapping[str, Any], at: datetime, pointer: str = "") -> list[FieldError]:
    """Set the fields that were sent, and the completion time. Does not save the row.

    Returns all errors. `pointer` is the JSON pointer of `sent` in the call's args.
    """
    named = [name for name in kind.fields if name in sent]
    errors = [error for name in named if (error := _set(row, name, sent[name], kind=kind, path=f"{pointer}/{name}"))]
    if not errors:
        errors = _out_of_order(row, kind=kind, sent=sent, pointer=pointer)
        errors += _without_what_it_needs(row, kind=kind, sent=sent, pointer=pointer)
    stamp(row, kind=kind, at=at)
    return errors


def stamp(row: Entity, *, kind: Kind, at: datetime) -> None:
    """Set the completion time when the row enters its final state, and clear it when the row leaves it."""
    if kind.stamp is None:
        return
    state, column = kind.stamp
    if row.state_key != state:
        setattr(row, column, None)
    elif getattr(row, column) is None:
        setattr(row, column, at)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the names of the fields whose JSON values differ: 1 equals 1.0 but not true."""
    return [name for name in after if canonical.dumps(before[name]) != canonical.dumps(after[name])]


def _set(row: Entity, name: str, value: Any, *, kind: Kind, path: str) -> FieldError | None:
    """Set one field, or return an error if the value is invalid."""
    column = kind.model._meta.get_field(name)
    if name == "props":
        row.props = _merged(row.props, value)
    elif isinstance(column, TagsField):
        setattr(row, name, _tags(getattr(row, name), value))
    elif name in kind.may_be_blank:
        setattr(row, name, value or "")
    elif name == kind.label and not value.strip():
        return FieldError(path=path, code="blank", message=f"{name} is blank; send at least one visible character.")
    elif value is not None and type(column) in READERS:
        return _set_read(row, name, value, path=path, reads=READERS[type(column)])
    else:
        setattr(row, name, value)
    return None


def _set_read(row: Entity, name: str, text: str, *, path: str, reads: Reader) -> FieldError | None:
    read, expected = reads
    try:
        setattr(row, name, read(text))
    except ValueError:
        message = f"{name} is not a valid time; send {expected}."
        return FieldError(path=path, code="impossible_time", message=message, expected=expected)
    return None


def _tags(old: list[str], sent: list[str] | None) -> list[str]:
    """Return the tags sent, without duplicates. As for all lists, an empty list changes nothing and null clears."""
    return [] if sent is None else list(dict.fromkeys(sent)) or old


def _merged(props: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """Merge one level deep. Null removes a key."""
    return {key: value for key, value in (props | sent).items() if key not in sent or value is not None}


def _out_of_order(row: Entity, *, kind: Kind, sent: Mapping[str, Any], pointer: str) -> list[FieldError]:
    if kind.span is None:
        return []
    start, end = kind.span
    begins, ends = getattr(row, start), getattr(row, end)
    if begins is None or ends is None or begins <= ends:
        return []
    culprit = end if end in sent else start
    message = f"{end} is before {start}; send a later {end} or an earlier {start}."
    return [FieldError(path=f"{pointer}/{culprit}", code="out_of_order", message=message)]


def _without_what_it_needs(row: Entity, *, kind: Kind, sent: Mapping[str, Any], pointer: str) -> list[FieldError]:
    """Clear the fields whose required field is empty. Returns an error for each of them that was sent."""
    errors = []
    for name, needed in kind.needs.items():
        if getattr(row, needed):
            continue
        if sent.get(name) is not None:
            message = f"{name} requires {needed}; send {needed} too, or leave {name} out."
            errors.append(FieldError(path=f"{pointer}/{name}", code=f"no_{needed}", message=message))
        setattr(row, name, None)
    return errors
