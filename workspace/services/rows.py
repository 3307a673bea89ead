"""Rows as answers: abbreviated in lists, whole everywhere else. All values are JSON values."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from workspace.kinds import Kind
from workspace.models import Entity
from workspace.services import times


def whole(row: Entity, *, kind: Kind) -> dict[str, Any]:
    """Return the complete row. A field without a value is null, so that a reader sees that it is there to be set."""
    values = {name: _value(getattr(row, name)) for name in kind.full_row}
    return values | {name: getattr(row, name) or None for name in kind.texts}


def abbreviated(columns: Mapping[str, Any], *, kind: Kind) -> dict[str, Any]:
    """Return a list row without its empty fields.

    `columns` holds those of `kind.list_row` and the beginning of each text: one character more than its preview has,
    so that it is known whether the preview is cut.
    """
    values = {name: _value(columns[name]) for name in kind.list_row}
    for name, length in kind.texts.items():
        values[f"{name}_preview"] = _preview(columns[f"{name}_preview"], length)
    return {name: value for name, value in values.items() if value is not None}


def _preview(beginning: str, length: int) -> str | None:
    return (beginning[:length] + "…" if len(beginning) > length else beginning) or None


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return times.write(value)
    return str(value) if isinstance(value, UUID) else value
