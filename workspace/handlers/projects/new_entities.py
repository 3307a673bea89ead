"""Building the first rows of a new project from one list of entities, each with the caller's own temp_id."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import models

from core.handler_contract import ArgumentError
from workspace.entity_types import DOCUMENT, GOAL, MILESTONE, PLAN, REQUIREMENT, RISK, TASK, EntityType
from workspace.handlers.documents import documents
from workspace.handlers.generic import generic_writes
from workspace.models import Entity, Project
from workspace.services.entities import duplicates, serialization
from workspace.services.time.partial_dates import PartialDates

ENTITY_KINDS = {kind.name: kind for kind in (GOAL, MILESTONE, PLAN, TASK, DOCUMENT, RISK, REQUIREMENT)}

_ENTITY_KEYS = ("temp_id", "kind")  # keys of a sent entity that are not fields of its kind
_LABEL_COLUMNS = tuple(
    dict.fromkeys(kind.label for kind in ENTITY_KINDS.values())
)  # name, title, text: it differs by kind


@dataclass(slots=True)
class NewEntities:
    """The unsaved rows by temp_id, the errors, and the warnings about repairs."""

    dates: PartialDates
    rows: dict[str, Entity] = field(default_factory=dict)
    errors: list[ArgumentError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def get_rows(self, kind: EntityType) -> list[Any]:
        """Return the rows of a kind, in the order they were sent."""
        return [row for row in self.rows.values() if type(row) is kind.model]

    def list_names(self, kind: EntityType) -> list[dict[str, str]]:
        """Return the id and the name of each row of a kind, in the order they were sent."""
        return [serialization.name_row(row, kind=kind) for row in self.get_rows(kind)]

    def save(self) -> None:
        """Insert the rows, one bulk insert per kind."""
        for kind in ENTITY_KINDS.values():
            if rows := self.get_rows(kind):
                kind.model._default_manager.bulk_create(rows)


def build_entities(
    sent: list[dict[str, Any]], *, project: Project, by: str, at: datetime, dates: PartialDates
) -> NewEntities:
    """Build the unsaved rows of a new project and collect all errors."""
    entities = NewEntities(dates)
    for index, entity in enumerate(sent):
        pointer = f"/entities/{index}"
        row, errors, warnings = build_entity(
            entity, ENTITY_KINDS[entity["kind"]], project=project, by=by, at=at, pointer=pointer, dates=dates
        )
        entities.errors += [*_check_temp_id(entity, entities, pointer), *errors]
        entities.warnings += warnings
        entities.rows.setdefault(entity["temp_id"], row)
    _keep_order(list(entities.rows.values()))
    return entities


def _keep_order(rows: list[Entity]) -> None:
    """Give the rows ids in falling order: lists sort rows of the same time by id, and show these as they were sent."""
    ids = sorted((row.pk for row in rows), reverse=True)
    for row, id in zip(rows, ids, strict=True):
        row.pk = id


def build_entity(
    sent: Mapping[str, Any],
    kind: EntityType,
    *,
    project: Project,
    by: str,
    at: datetime,
    pointer: str,
    dates: PartialDates,
) -> tuple[Entity, list[ArgumentError], list[str]]:
    """Return an unsaved row of a new project, its errors, and the warnings about repairs."""
    fields, warnings = _normalize_fields(sent, kind)
    fields, date_errors = dates.complete_times(fields, kind=kind, pointer=pointer)
    row, errors = generic_writes.build_row(fields, kind=kind, project=project, by=by, at=at, pointer=pointer)
    entity_warnings = [f"{pointer.removeprefix('/')}: {warning}" for warning in warnings]
    return row, [*_check_fields(fields, kind, pointer), *date_errors, *errors], entity_warnings


def _normalize_fields(entity: Mapping[str, Any], kind: EntityType) -> tuple[dict[str, Any], list[str]]:
    """Return an entity's fields under the names of its kind, and a warning for each repair."""
    fields = {name: value for name, value in entity.items() if name not in _ENTITY_KEYS}
    warnings: list[str] = []
    other_labels = [
        name for name in _LABEL_COLUMNS if name in fields and name != kind.label and name not in kind.fields
    ]
    if kind.label not in fields and other_labels:
        fields[kind.label] = fields.pop(other_labels[0])
        warnings.append(f"Read {other_labels[0]} as {kind.label}.")
    if kind is DOCUMENT and "body_markdown" in fields and "content" not in fields:
        fields["content"] = fields.pop("body_markdown")
        warnings.append("Read body_markdown as content.")
    state = fields.get("state_key")
    if state is not None and (canonical := duplicates.resolve_state(state, kind)) not in (None, state):
        fields["state_key"] = canonical
        warnings.append(f"Read state_key as {canonical}.")
    if kind is DOCUMENT:
        fields, title_warnings = documents.repair_new_document(fields)
        warnings += title_warnings
    return fields, warnings


def _check_temp_id(entity: Mapping[str, Any], entities: NewEntities, pointer: str) -> Iterator[ArgumentError]:
    """Yield an error if the temp_id was used before: a reference to it would be ambiguous."""
    if entity["temp_id"] in entities.rows:
        message = "Duplicate temp_id; give each entity a different one."
        yield ArgumentError(path=f"{pointer}/temp_id", code="duplicate", message=message)


def _check_fields(fields: Mapping[str, Any], kind: EntityType, pointer: str) -> Iterator[ArgumentError]:
    """Yield an error for each missing label, unknown field and bad value.

    The op's schema covers the entities of all kinds, so it cannot check what one kind allows.
    """
    if kind.label not in fields:
        message = f"A {kind.name} needs {kind.label}; send it."
        yield ArgumentError(path=f"{pointer}/{kind.label}", code="required", message=message)
    for name, value in fields.items():
        path = f"{pointer}/{name}"
        if name not in kind.fields:
            message = f"{name} is not a field of a {kind.name}; leave it out."
            yield ArgumentError(path=path, code="unknown_argument", message=message)
        else:
            yield from _check_value(name, value, kind, path)


def _check_value(name: str, value: Any, kind: EntityType, path: str) -> Iterator[ArgumentError]:
    """Yield an error if a value is not among its column's choices, too long, or of the wrong form."""
    column = cast("models.Field[Any, Any]", kind.model._meta.get_field(name))
    options = [option for option, _ in column.flatchoices]
    if options and value not in options:
        what = "state" if name == "state_key" else name
        message = f"{name} is not a {what} of a {kind.name}; send one of {', '.join(options)}."
        yield ArgumentError(path=path, code="enum", message=message, expected="|".join(options))
    elif isinstance(value, str) and column.max_length and len(value) > column.max_length:
        message = f"{name} of a {kind.name} must have at most {column.max_length} characters."
        yield ArgumentError(path=path, code="maxLength", message=message, expected=f"at most {column.max_length}")
    elif name == "type_key" and not _is_valid_type(column, value):
        default = column.get_default()
        message = f"type_key is not a type of a {kind.name}; send one such as {default}, or leave it out."
        yield ArgumentError(path=path, code="pattern", message=message, expected=default)


def _is_valid_type(column: "models.Field[Any, Any]", value: str) -> bool:
    try:
        column.run_validators(value)
    except ValidationError:
        return False
    return True
