"""A separate demo workspace for each session: copied from the loaded demo under new ids, and compared afterwards.

New ids also because the help of ops shows the demo's own ids in its examples.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.apps import apps
from django.db import models, transaction
from django.db.models import Q

from workspace.demo import DEMO_COLLEAGUE, DEMO_SUBJECT
from workspace.entity_types import CALENDAR, ENTITY_TYPE_BY_NAME, EVENT
from workspace.models import CalendarEvent, Membership, Profile, Project, WriteRecord

CREATE, CHANGE, DELETE = "create", "change", "delete"

# Columns that writes keep up by themselves.
DERIVED_FIELDS = frozenset(
    {"updated_at", "completed_at", "mitigated_at", "tree_version", "position", "operation_count", "slug"}
)
_KIND_BY_MODEL: dict[type[models.Model], str] = {
    entity_type.model: entity_type.name for entity_type in (*ENTITY_TYPE_BY_NAME.values(), EVENT, CALENDAR)
}


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """A row as it was at one moment."""

    id: str
    kind: str
    title: str
    fields: Mapping[str, Any]


Snapshot = Mapping[str, SnapshotRow]  # by id


@dataclass(frozen=True, slots=True)
class RowChange:
    """What became of a row: `fields` are all of a new row, else those that changed. `row` is the earlier one if any."""

    action: str
    row: SnapshotRow
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        shown = f" ({', '.join(sorted(self.fields))})" if self.action == CHANGE else ""
        return f"{self.action} {self.row.kind} {self.row.title}{shown}".strip()


class WorkspaceTemplate:
    """The rows of the loaded demo."""

    def __init__(self, day: date) -> None:
        self._day = day  # of loading in UTC, which the rows' dates count from
        self._rows = [(model, list(model._base_manager.all())) for model in _get_models()]

    def copy_for(self, subject: str, *, today: date) -> None:
        """Create the demo's rows for a subject and its own colleague, with their dates relative to today."""
        values: dict[Any, Any] = {row.pk: uuid4() for _, rows in self._rows for row in rows}
        values |= {DEMO_SUBJECT: subject, DEMO_COLLEAGUE: f"{subject}-colleague"}
        shift = today - self._day
        with transaction.atomic():  # SQLite checks references at its end
            for model, rows in self._rows:
                model._base_manager.bulk_create([_copy_row(row, values, shift) for row in rows])


def take_snapshot(subject: str) -> dict[str, SnapshotRow]:
    """Return all rows of a subject's workspace by id, including deleted ones."""
    projects = Membership.objects.filter(subject=subject).values("project")
    rows = {}
    for model in _get_models():
        names = {field.name for field in model._meta.concrete_fields}
        owned = Q(project__in=projects) if "project" in names else Q()
        owned |= Q(pk__in=projects) if model is Project else Q()
        owned |= Q(subject=subject) if "subject" in names else Q()
        for instance in model._base_manager.filter(owned):
            rows[str(instance.pk)] = _read_row(instance)
    return rows


def delete_workspace(subject: str) -> None:
    """Delete a subject's rows, so that all sessions run on equally many rows."""
    projects = Membership.objects.filter(subject=subject).values_list("project", flat=True)
    Project._base_manager.filter(pk__in=list(projects)).delete()
    CalendarEvent._base_manager.filter(subject__in=[subject, f"{subject}-colleague"]).delete()
    Profile._base_manager.filter(subject__in=[subject, f"{subject}-colleague"]).delete()
    WriteRecord._base_manager.filter(subject__in=[subject, f"{subject}-colleague"]).delete()


def compare_snapshots(before: Snapshot, after: Snapshot) -> list[RowChange]:
    """Return what a session did to the rows, without what follows from that by itself."""
    changes = list(_iter_changes(before, after))
    created = {change.row.id for change in changes if change.action == CREATE}
    deleted = {change.row.id for change in changes if change.action == DELETE}
    return [change for change in changes if not _is_consequence(change, created, deleted)]


def _iter_changes(before: Snapshot, after: Snapshot) -> Iterator[RowChange]:
    for id, row in after.items():
        old = before.get(id)
        if old is None:
            if not row.fields.get("deleted_at"):
                yield RowChange(CREATE, row, row.fields)
            continue
        fields = {name: value for name, value in row.fields.items() if value != old.fields[name]}
        if fields.get("deleted_at"):
            yield RowChange(DELETE, old, {})
        elif changed := {name: value for name, value in fields.items() if name not in DERIVED_FIELDS}:
            yield RowChange(CHANGE, old, changed)
    yield from (RowChange(DELETE, old, {}) for id, old in before.items() if id not in after)


def _is_consequence(change: RowChange, created: set[str], deleted: set[str]) -> bool:
    """Whether a change only follows from another: memberships, events that show a task's dates, edges of new rows."""
    row = change.row
    if row.kind == "edge":
        ends = {row.fields["src_id"], row.fields["dst_id"]}
        return bool(ends & (created if change.action == CREATE else deleted))
    if row.kind == "event" and row.fields["task_event_kind"]:
        return True
    if row.kind == "document" and change.action == CREATE and row.fields["project"] in created:
        return True  # what the creation of a project may add to it
    return row.kind == "membership" and change.action == CREATE


def _get_models() -> Sequence[type[models.Model]]:
    """Return the models of what a user has; the records of their writes are not part of that."""
    return [model for model in apps.get_app_config("workspace").get_models() if model is not WriteRecord]


def _copy_row(row: models.Model, values: Mapping[Any, Any], shift: timedelta) -> models.Model:
    fields = {}
    for field in row._meta.concrete_fields:
        value = getattr(row, field.attname)
        if isinstance(value, datetime | date):
            value += shift
        elif isinstance(value, UUID | str):
            value = values.get(value, value)
        fields[field.attname] = value
    return type(row)(**fields)


def _read_row(instance: models.Model) -> SnapshotRow:
    fields = {}
    for field in instance._meta.concrete_fields:
        value = getattr(instance, field.attname)
        fields[field.name] = str(value) if isinstance(value, UUID) else value
    kind = _KIND_BY_MODEL.get(type(instance), instance._meta.model_name or "")
    title = fields.get("title") or fields.get("name") or fields.get("text") or ""
    return SnapshotRow(str(instance.pk), kind, str(title), fields)
