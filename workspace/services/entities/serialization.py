"""Rows as JSON: which fields, and the names of the rows that they point to."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from core.handler_contract import ArgumentError, build_invalid_args
from core.text import english
from workspace.entity_types import EntityType
from workspace.models import Entity
from workspace.services.time import times

PROJECT_FIELDS = ("project_id", "project_name")  # of a row that is in a project
ASKED_TEXT_LENGTH = 2_000  # characters of a long text in a list row, if it was requested
ARGUMENT = "fields"
ALL = "*"
MAX_LENGTH = 60  # characters; the name of a requirement is its whole text


def serialize_row(row: Entity, *, kind: EntityType, at: datetime) -> dict[str, Any]:
    """Return the complete row: its columns and the computed fields as of `at`."""
    return serialize_columns(row, kind=kind) | _compute_fields(row, kind.full_row, kind=kind, at=at)


def serialize_columns(row: Entity, *, kind: EntityType) -> dict[str, Any]:
    """Return the fields of a row. Empty ones are null, so that the reader sees that they can be set."""
    values = {name: _serialize_value(getattr(row, name)) for name in kind.full_row}
    return values | {name: values[name] or None for name in kind.nullable_texts & values.keys()}


def serialize_list_row(row: Entity, *, kind: EntityType, at: datetime, fields: Collection[str] = ()) -> dict[str, Any]:
    """Return a list row as of `at`, without fields that are empty or false, with times to the second. 0 is not empty.

    A text that is shown whole has its own name, one that is cut is <name>_preview. With `fields`, the row has only
    these and its id. It must have the beginning of each text as <name>_preview, with one character more than is shown,
    so that truncation can be detected.
    """
    texts = get_preview_lengths(kind, fields)
    other = {*texts, *kind.computed_fields, *kind.preview_fields, *kind.added_fields}
    names = [name for name in dict.fromkeys(("id", *(fields or kind.list_row))) if name not in other]
    values = {name: _serialize_value(_drop_microseconds(getattr(row, name))) for name in names}
    for name, length in texts.items():
        beginning = getattr(row, f"{name}_preview")
        fits = (not fields or name in fields) and len(beginning) <= length
        values[name if fits else f"{name}_preview"] = _truncate(beginning, length)
    computed = _compute_fields(row, kind.list_row, kind=kind, at=at)
    return drop_empty(values | {name: value for name, value in computed.items() if not fields or name in fields})


def get_preview_lengths(kind: EntityType, fields: Collection[str] = ()) -> dict[str, int]:
    """Return how many characters of each long text a list row shows: with `fields`, only of those among them."""
    if not fields:
        return {name: length for name, length in kind.texts.items() if name not in kind.unlisted_texts}
    previews = {name: length for name, length in kind.texts.items() if f"{name}_preview" in fields}
    asked = [name for name in kind.long_texts if name in fields and name not in kind.list_row]
    return previews | dict.fromkeys(asked, ASKED_TEXT_LENGTH)


def name_row(row: Entity, *, kind: EntityType) -> dict[str, str]:
    """Return the id and the name of a row, under the column that holds it."""
    return {"id": str(row.pk), kind.label: to_one_line(getattr(row, kind.label))}


def drop_empty(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row without fields that are empty or false. 0 is not empty."""
    return {name: value for name, value in row.items() if value is not False and value not in (None, "", [], {})}


def abbreviate_text(name: str, text: str | None, length: int = ASKED_TEXT_LENGTH) -> dict[str, str | None]:
    """Return {name: text}, or {name_preview: its beginning} if it is longer."""
    return {f"{name}_preview": _truncate(text, length)} if text and len(text) > length else {name: text}


def select_fields(row: Mapping[str, Any], *, kind: EntityType, fields: Collection[str]) -> dict[str, Any]:
    """Return the id of a complete row, and of `fields` what it has: columns, computed fields and previews."""
    lengths = {name: length for name, length in kind.texts.items() if f"{name}_preview" in fields and row[name]}
    previews = {f"{name}_preview": _truncate(row[name], length) for name, length in lengths.items()}
    return {name: value for name, value in row.items() if name == "id" or name in fields} | previews


def take_out_project(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of a list without repeated project fields, and the fields that they share.

    Rows that are all in one project lose its id and name. Rows of several projects keep the names, and `project_ids`
    has the ids by name. Rows do not change if nothing is repeated, or if two projects have the same name.
    """
    in_project = [row for row in rows if row.get("project_id")]
    ids_by_name = {row["project_name"]: row["project_id"] for row in in_project}
    if len({row["project_id"] for row in in_project}) != len(ids_by_name) or len(in_project) == len(ids_by_name):
        return list(rows), {}
    if len(ids_by_name) == 1 and len(in_project) == len(rows):
        return [leave_out(row, PROJECT_FIELDS) for row in rows], {name: rows[0][name] for name in PROJECT_FIELDS}
    return [leave_out(row, ("project_id",)) for row in rows], {"project_ids": ids_by_name}


def leave_out(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the row without some fields."""
    return {name: value for name, value in row.items() if name not in names}


def _drop_microseconds(value: Any) -> Any:
    return value.replace(microsecond=0) if isinstance(value, datetime) else value


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


def choose_fields(args: Mapping[str, Any], names: Sequence[str], *, also: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names sent in `fields`; all `names` for *. Raises InvalidArgs if one is in neither."""
    sent = args.get(ARGUMENT) or []
    if ALL in sent:
        return tuple(names)
    if errors := check_fields(args, (*names, *also)):
        raise build_invalid_args(errors)
    return tuple(dict.fromkeys(sent))


def check_fields(args: Mapping[str, Any], names: Sequence[str]) -> list[ArgumentError]:
    """Return an error for each name in `fields` that is neither * nor one of `names`."""
    message = f"Unknown field. Use {ALL} for all fields, or choose from: {', '.join(names)}."
    sent = args.get(ARGUMENT) or []
    meant = english.find_field_names(sent, names)
    return [
        ArgumentError(
            path=f"/{ARGUMENT}/{number}",
            code="unknown_field",
            message=message,
            send={ARGUMENT: meant} if meant else None,
        )
        for number, name in enumerate(sent)
        if name != ALL and name not in names
    ]


def quote_name(name: str) -> str:
    """Return a row's name in quotes, on one line, cut if it is long."""
    return f"“{to_one_line(name)}”"


def to_one_line(name: str) -> str:
    """Return a row's name on one line, cut if it is long."""
    line = " ".join(name.split())
    return line if len(line) <= MAX_LENGTH else f"{line[:MAX_LENGTH].rstrip()}…"
