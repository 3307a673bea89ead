"""Building the first rows of a new project from one list of entities, each with the caller's own temp_id."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import models

from workspace.errors import FieldError
from workspace.handlers import documents, writes
from workspace.kinds import DOCUMENT, GOAL, MILESTONE, PLAN, REQUIREMENT, RISK, TASK, Kind
from workspace.models import Entity, Project
from workspace.services import roughly, states

KINDS = {kind.name: kind for kind in (GOAL, MILESTONE, PLAN, TASK, DOCUMENT, RISK, REQUIREMENT)}

_OWN = ("temp_id", "kind")  # keys of a sent entity that are not fields of its kind
_LABELS = tuple(dict.fromkeys(kind.label for kind in KINDS.values()))  # name, title, text: it differs by kind


@dataclass(slots=True)
class Entities:
    """The unsaved rows by temp_id, the errors, and the warnings about repairs."""

    rows: dict[str, Entity] = field(default_factory=dict)
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def of(self, kind: Kind) -> list[Any]:
        """Return the rows of a kind, in the order they were sent."""
        return [row for row in self.rows.values() if type(row) is kind.model]

    def save(self) -> None:
        """Insert the rows, one bulk insert per kind."""
        for kind in KINDS.values():
            if rows := self.of(kind):
                kind.model._default_manager.bulk_create(rows)


def build(sent: list[dict[str, Any]], *, project: Project, by: str, at: datetime) -> Entities:
    """Build the unsaved rows of a new project and collect all errors."""
    found = Entities()
    for index, entity in enumerate(sent):
        pointer = f"/entities/{index}"
        row, errors, warnings = build_one(entity, KINDS[entity["kind"]], project=project, by=by, at=at, pointer=pointer)
        found.errors += [*_repeated(entity, found, pointer), *errors]
        found.warnings += warnings
        found.rows.setdefault(entity["temp_id"], row)
    return found


def build_one(
    sent: Mapping[str, Any], kind: Kind, *, project: Project, by: str, at: datetime, pointer: str
) -> tuple[Entity, list[FieldError], list[str]]:
    """Return an unsaved row of a new project, its errors, and the warnings about repairs."""
    fields, warnings = _read(sent, kind)
    fields, late = roughly.spelt_out(fields, kind=kind, pointer=pointer)
    row, errors = writes.build(fields, kind=kind, project=project, by=by, at=at, pointer=pointer)
    told = [f"{pointer.removeprefix('/')}: {warning}" for warning in warnings]
    return row, [*_misplaced(fields, kind, pointer), *late, *errors], told


def _read(entity: Mapping[str, Any], kind: Kind) -> tuple[dict[str, Any], list[str]]:
    """Return an entity's fields under the names of its kind, and a warning for each repair."""
    fields = {name: value for name, value in entity.items() if name not in _OWN}
    warnings: list[str] = []
    other = [name for name in _LABELS if name in fields and name != kind.label and name not in kind.fields]
    if kind.label not in fields and other:
        fields[kind.label] = fields.pop(other[0])
        warnings.append(f"Read {other[0]} as {kind.label}.")
    if kind is DOCUMENT and "body_markdown" in fields and "content" not in fields:
        fields["content"] = fields.pop("body_markdown")
        warnings.append("Read body_markdown as content.")
    state = fields.get("state_key")
    if state is not None and (meant := states.meant(state, kind)) not in (None, state):
        fields["state_key"] = meant
        warnings.append(f"Read state_key as {meant}.")
    if kind is DOCUMENT:
        fields, mended = documents.titled(fields)
        warnings += mended
    return fields, warnings


def _repeated(entity: Mapping[str, Any], found: Entities, pointer: str) -> Iterator[FieldError]:
    """Yield an error if the temp_id was used before: a reference to it would be ambiguous."""
    if entity["temp_id"] in found.rows:
        message = "temp_id is used twice; give each entity its own."
        yield FieldError(path=f"{pointer}/temp_id", code="duplicate", message=message)


def _misplaced(fields: Mapping[str, Any], kind: Kind, pointer: str) -> Iterator[FieldError]:
    """Yield an error for each missing label, unknown field and bad value.

    The op's schema covers the entities of all kinds, so it cannot check what one kind allows.
    """
    if kind.label not in fields:
        message = f"A {kind.name} needs {kind.label}; send it."
        yield FieldError(path=f"{pointer}/{kind.label}", code="required", message=message)
    for name, value in fields.items():
        path = f"{pointer}/{name}"
        if name not in kind.fields:
            message = f"{name} is not a field of a {kind.name}; leave it out."
            yield FieldError(path=path, code="unknown_argument", message=message)
        else:
            yield from _unfit(name, value, kind, path)


def _unfit(name: str, value: Any, kind: Kind, path: str) -> Iterator[FieldError]:
    """Yield an error if a value is not among its column's choices, too long, or of the wrong form."""
    column = cast("models.Field[Any, Any]", kind.model._meta.get_field(name))
    options = [option for option, _ in column.flatchoices]
    if options and value not in options:
        what = "state" if name == "state_key" else name
        message = f"{name} is not a {what} of a {kind.name}; send one of {', '.join(options)}."
        yield FieldError(path=path, code="enum", message=message, expected="|".join(options))
    elif isinstance(value, str) and column.max_length and len(value) > column.max_length:
        message = f"{name} of a {kind.name} must have at most {column.max_length} characters."
        yield FieldError(path=path, code="maxLength", message=message, expected=f"at most {column.max_length}")
    elif name == "type_key" and not _is_type(column, value):
        default = column.get_default()
        message = f"type_key is not a type of a {kind.name}; send one such as {default}, or leave it out."
        yield FieldError(path=path, code="pattern", message=message, expected=default)


def _is_type(column: "models.Field[Any, Any]", value: str) -> bool:
    try:
        column.run_validators(value)
    except ValidationError:
        return False
    return True
