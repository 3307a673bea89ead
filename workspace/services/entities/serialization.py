"""Serialize rows as JSON values: abbreviated in lists, complete everywhere else."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from workspace.entity_types import EntityType
from workspace.models import Entity
from workspace.services.time import times


def serialize_row(row: Entity, *, kind: EntityType, at: datetime) -> dict[str, Any]:
    """Return the complete row: its columns and the computed fields as of `at`."""
    return serialize_columns(row, kind=kind) | _compute_fields(row, kind.full_row, kind=kind, at=at)


def serialize_columns(row: Entity, *, kind: EntityType) -> dict[str, Any]:
    """Return the fields of a row. Empty ones are null, so that the reader sees that they can be set."""
    values = {name: _serialize_value(getattr(row, name)) for name in kind.full_row}
    return values | {name: values[name] or None for name in kind.nullable_texts & values.keys()}


def serialize_list_row(row: Entity, *, kind: EntityType, at: datetime) -> dict[str, Any]:
    """Return a list row as of `at`, without empty fields. False and 0 are not empty.

    The row must have the beginning of each text as <name>_preview, with one character more than is shown, so that
    truncation can be detected.
    """
    values = {name: _serialize_value(getattr(row, name)) for name in kind.list_row}
    for name, length in kind.texts.items():
        beginning = getattr(row, f"{name}_preview")
        fits = name in kind.inline_texts and len(beginning) <= length
        values[name if fits else f"{name}_preview"] = _truncate(beginning, length)
    values |= _compute_fields(row, kind.list_row, kind=kind, at=at)
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _compute_fields(row: Entity, names: tuple[str, ...], *, kind: EntityType, at: datetime) -> dict[str, Any]:
    columns_by_name = {name: getattr(row, name) for name in names}
    return {name: compute(columns_by_name, at) for name, compute in kind.computed_fields.items()}


def _truncate(beginning: str, length: int) -> str:
    return beginning[:length] + "…" if len(beginning) > length else beginning


def _serialize_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return times.format_time(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
