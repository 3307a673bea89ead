"""Setting what a caller sent on a row."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import models

from core import canonical
from workspace.errors import FieldError
from workspace.kinds import Kind
from workspace.models import Entity
from workspace.services import times


def assign(row: Entity, *, kind: Kind, sent: Mapping[str, Any], at: datetime, pointer: str = "") -> list[FieldError]:
    """Set the kind's fields that were sent, and the time stamp of its state. Saves nothing.

    Returns all that is wrong; `pointer` is the JSON pointer of `sent` in the call's args.
    """
    named = [name for name in kind.fields if name in sent]
    errors = [error for name in named if (error := _set(row, name, sent[name], kind=kind, path=f"{pointer}/{name}"))]
    if not errors:
        errors = _out_of_order(row, kind=kind, sent=sent, pointer=pointer)
    stamp(row, kind=kind, at=at)
    return errors


def stamp(row: Entity, *, kind: Kind, at: datetime) -> None:
    """Set when the work ended on entering the state that ends it, and clear it on leaving."""
    if kind.stamp is None:
        return
    state, column = kind.stamp
    if row.state_key != state:
        setattr(row, column, None)
    elif getattr(row, column) is None:
        setattr(row, column, at)


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Name the fields that differ, as JSON sees it: 1 and 1.0 are the same there, 1 and true are not."""
    return [name for name in after if canonical.dumps(before[name]) != canonical.dumps(after[name])]


def _set(row: Entity, name: str, value: Any, *, kind: Kind, path: str) -> FieldError | None:
    """Set one field, unless what was sent cannot be."""
    if name == "props":
        row.props = _merged(row.props, value)
    elif name in kind.texts:
        setattr(row, name, value or "")
    elif name == kind.label and not value.strip():
        return FieldError(path=path, code="blank", message=f"{name} is blank; send at least one visible character.")
    elif value is not None and isinstance(kind.model._meta.get_field(name), models.DateTimeField):
        return _set_time(row, name, value, path=path)
    else:
        setattr(row, name, value)
    return None


def _set_time(row: Entity, name: str, text: str, *, path: str) -> FieldError | None:
    try:
        setattr(row, name, times.read(text))
    except ValueError:
        message = f"{name} is no moment that can be kept; send {times.EXPECTED}."
        return FieldError(path=path, code="impossible_time", message=message, expected=times.EXPECTED)
    return None


def _merged(props: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """Merge one level deep; null removes its key."""
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
