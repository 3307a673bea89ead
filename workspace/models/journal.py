"""Note which rows a write changes, with their columns as they were before.

While a journal is open, models and querysets of the workspace add to it what they save. Rows that were loaded within
the write cost no further query; a statement over many rows costs one that reads them first.
"""

import copy
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar
from uuid import UUID

from django.db import models

Columns = dict[str, Any]  # column -> value
RowKey = tuple[type[models.Model], UUID]
ROOM = frozenset({"position"})  # of documents: the service that places them moves the others along
AnyModel = TypeVar("AnyModel", bound=models.Model, covariant=True)


@dataclass(slots=True)
class ChangeJournal:
    """The rows of one write: those that it created, and the changed columns of the others as they were before.

    `saved` has the rows whose instance has the stored values; those that a statement changed last are not among them.
    """

    created: set[RowKey] = field(default_factory=set)
    before: dict[RowKey, Columns] = field(default_factory=dict)
    saved: dict[RowKey, models.Model] = field(default_factory=dict)
    loaded: dict[RowKey, Columns] = field(default_factory=dict)
    is_paused: bool = False

    def note_loaded(self, row: models.Model, columns: Columns) -> None:
        """Keep the columns of a row that was read, unless they are known or the write has already changed it."""
        key = (type(row), row.pk)
        if key not in self.before and key not in self.created:
            known = self.loaded.setdefault(key, {})
            for name, value in columns.items():
                known.setdefault(name, copy.deepcopy(value) if isinstance(value, list | dict) else value)

    def note_created(self, rows: Iterable[models.Model]) -> None:
        """Note rows that are inserted."""
        for row in rows:
            self.created.add((type(row), row.pk))
            self.saved[type(row), row.pk] = row

    def note_saved(self, row: models.Model, names: Collection[str]) -> None:
        """Note columns of a row that are saved, before that."""
        key = (type(row), row.pk)
        self.saved[key] = row
        self._note_before(type(row), {row.pk: self.loaded.get(key, {})}, names)

    def note_statement(self, queryset: "models.QuerySet[Any]", names: Collection[str]) -> None:
        """Note columns that a statement sets in all rows of a queryset, before that.

        Statements that only make room among siblings are left out.
        """
        if ROOM.issuperset(names):
            return
        rows = {row.pop("pk"): row for row in queryset.order_by().values("pk", *names)}
        for id in rows:
            self.saved.pop((queryset.model, id), None)
        self._note_before(queryset.model, rows, names)

    def _note_before(self, model: type[models.Model], rows: Mapping[UUID, Columns], names: Collection[str]) -> None:
        for id, columns in rows.items():
            key = (model, id)
            if key in self.created:
                continue
            known = self.before.setdefault(key, {})
            needed = [name for name in names if name not in known]
            if missing := [name for name in needed if name not in columns]:
                columns = {**columns, **(model._base_manager.filter(pk=id).values(*missing).first() or {})}
            known.update((name, columns[name]) for name in needed if name in columns)


_journal: ContextVar[ChangeJournal | None] = ContextVar("workspace_journal", default=None)


@contextmanager
def open_journal() -> Iterator[ChangeJournal]:
    """Note all rows of the workspace that are saved inside."""
    journal = ChangeJournal()
    token = _journal.set(journal)
    try:
        yield journal
    finally:
        _journal.reset(token)


def _get_journal() -> ChangeJournal | None:
    journal = _journal.get()
    return journal if journal and not journal.is_paused else None


def _get_columns(model: type[models.Model], names: Iterable[str]) -> list[str]:
    """Return the columns of fields: project is project_id."""
    return [model._meta.get_field(name).attname for name in names]  # type: ignore[union-attr]


class JournaledQuerySet(models.QuerySet[AnyModel]):
    """Rows whose changes by statements are noted in the open journal, if there is one."""

    def update(self, **columns: Any) -> int:
        """Set columns of all rows."""
        if journal := _get_journal():
            journal.note_statement(self, _get_columns(self.model, columns))
        return super().update(**columns)

    def bulk_create(self, objs: Iterable[Any], *args: Any, **options: Any) -> list[Any]:
        """Insert rows."""
        rows = list(objs)
        if journal := _get_journal():
            journal.note_created(rows)
        return super().bulk_create(rows, *args, **options)

    def bulk_update(self, objs: Iterable[Any], fields: Iterable[str], *args: Any, **options: Any) -> int:
        """Save columns of rows."""
        rows, names = list(objs), list(fields)
        journal = _get_journal()
        if journal is None:
            return super().bulk_update(rows, names, *args, **options)
        for row in rows:
            journal.note_saved(row, _get_columns(self.model, names))
        journal.is_paused = True  # Django makes statements of it
        try:
            return super().bulk_update(rows, names, *args, **options)
        finally:
            journal.is_paused = False


class JournaledModel(models.Model):
    """A row whose changes are noted in the open journal, if there is one."""

    class Meta:
        abstract = True

    def save(self, *args: Any, **options: Any) -> None:
        """Save the row."""
        journal = _get_journal()
        if journal and (options.get("force_insert") or self._state.adding):
            journal.note_created([self])
        elif journal:
            names = options.get("update_fields")
            every = [column.name for column in self._meta.concrete_fields if not column.primary_key]
            journal.note_saved(self, _get_columns(type(self), every if names is None else names))
        super().save(*args, **options)

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        """Build a row from the database, and keep what it had."""
        row = super().from_db(db, field_names, values, **options)
        if journal := _get_journal():
            journal.note_loaded(row, dict(zip(field_names, values, strict=False)))
        return row
