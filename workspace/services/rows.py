"""Serialize rows as JSON values: abbreviated in lists, complete everywhere else."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from workspace.kinds import Kind
from workspace.models import Entity
from workspace.services import times


def whole(row: Entity, *, kind: Kind, at: datetime) -> dict[str, Any]:
    """Return the complete row: its columns and the computed fields as of `at`."""
    return columns(row, kind=kind) | _facts(row, kind.full_row, kind=kind, at=at)


def columns(row: Entity, *, kind: Kind) -> dict[str, Any]:
    """Return the fields of a row. Empty ones are null, so that the reader sees that they can be set."""
    values = {name: _value(getattr(row, name)) for name in kind.full_row}
    return values | {name: values[name] or None for name in kind.may_be_blank & values.keys()}


def abbreviated(row: Entity, *, kind: Kind, at: datetime) -> dict[str, Any]:
    """Return a list row as of `at`, without empty fields. False and 0 are not empty.

    The row must have the beginning of each text as <name>_preview, with one character more than is shown, so that
    truncation can be detected.
    """
    values = {name: _value(getattr(row, name)) for name in kind.list_row}
    for name, length in kind.texts.items():
        beginning = getattr(row, f"{name}_preview")
        fits = name in kind.concise and len(beginning) <= length
        values[name if fits else f"{name}_preview"] = _preview(beginning, length)
    values |= _facts(row, kind.list_row, kind=kind, at=at)
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _facts(row: Entity, names: tuple[str, ...], *, kind: Kind, at: datetime) -> dict[str, Any]:
    held = {name: getattr(row, name) for name in names}
    return {name: fact(held, at) for name, fact in kind.facts.items()}


def _preview(beginning: str, length: int) -> str:
    return beginning[:length] + "…" if len(beginning) > length else beginning


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return times.write(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
