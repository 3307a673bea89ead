"""The first rows of a new project: entities of several kinds in one list."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from django.db import models

from workspace.errors import FieldError
from workspace.handlers import documents, writes
from workspace.kinds import DOCUMENT, TASK, Kind
from workspace.models import Entity, Project

KINDS = {kind.name: kind for kind in (TASK, DOCUMENT)}

_LABELS = ("temp_id", "kind")  # what an entity says beside its kind's fields


@dataclass(slots=True)
class Entities:
    """The rows by kind, not yet saved, what is wrong with them, and a sentence for each that was put right."""

    rows: dict[str, list[Entity]] = field(default_factory=lambda: {name: [] for name in KINDS})
    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def save(self) -> None:
        """Insert the rows, those of a kind together."""
        for name, rows in self.rows.items():
            KINDS[name].model._default_manager.bulk_create(rows)

    def counts(self) -> dict[str, int]:
        """Return how many there are of each kind, by its plural."""
        return {KINDS[name].plural: len(rows) for name, rows in self.rows.items()}

    def told(self) -> str:
        """Return the counts in words, such as 2 tasks and 1 document."""
        kinds = [(KINDS[name], len(rows)) for name, rows in self.rows.items()]
        return " and ".join(f"{number} {kind.name if number == 1 else kind.plural}" for kind, number in kinds)


def build(sent: list[dict[str, Any]], *, project: Project, by: str, at: datetime) -> Entities:
    """Return the rows of a project's first entities, and all that is wrong with any of them."""
    found = Entities(errors=_repeated(sent))
    for index, entity in enumerate(sent):
        kind, pointer = KINDS[entity["kind"]], f"/entities/{index}"
        fields: Mapping[str, Any] = entity
        if kind is DOCUMENT:
            fields, warnings = documents.titled(entity)
            found.warnings += [f"entities/{index}: {warning}" for warning in warnings]
        row, errors = writes.build(fields, kind=kind, project=project, by=by, at=at, pointer=pointer)
        found.rows[kind.name].append(row)
        found.errors += [*_misplaced(entity, kind=kind, pointer=pointer), *errors]
    return found


def _repeated(sent: list[dict[str, Any]]) -> list[FieldError]:
    """Refuse every temp_id that stood before: a reference to it would be ambiguous."""
    seen: set[str] = set()
    errors = []
    for index, entity in enumerate(sent):
        if entity["temp_id"] in seen:
            message = "temp_id is used twice; give each of the entities its own."
            errors.append(FieldError(path=f"/entities/{index}/temp_id", code="duplicate", message=message))
        seen.add(entity["temp_id"])
    return errors


def _misplaced(entity: dict[str, Any], *, kind: Kind, pointer: str) -> Iterator[FieldError]:
    """Refuse what only another kind has: one schema describes the entities of all kinds, so it lets that through."""
    for name in entity.keys() - set(kind.fields) - set(_LABELS):
        message = f"{name} is no field of a {kind.name}; leave it out."
        yield FieldError(path=f"{pointer}/{name}", code="unknown_argument", message=message)
    states = [value for value, _ in _column(kind, "state_key").flatchoices]
    if entity.get("state_key", states[0]) not in states:
        message = f"state_key is no state of a {kind.name}; send one of {', '.join(states)}."
        yield FieldError(path=f"{pointer}/state_key", code="enum", message=message, expected="|".join(states))
    if not entity.get("type_key", f"{kind.name}.").startswith(f"{kind.name}."):
        default = _column(kind, "type_key").get_default()
        message = f"type_key is no type of a {kind.name}; send one that starts with {kind.name}., such as {default}."
        yield FieldError(path=f"{pointer}/type_key", code="pattern", message=message, expected=default)


def _column(kind: Kind, name: str) -> "models.Field[Any, Any]":
    return cast("models.Field[Any, Any]", kind.model._meta.get_field(name))
