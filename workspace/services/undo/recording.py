"""Store each write with the rows as they were before, in the transaction of the write."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import QuerySet

from core.handler_contract import UNCHANGED, OpOutcome, OpRequest
from core.text import json_text
from workspace.models import WriteRecord
from workspace.models.journal import ChangeJournal, Columns, RowKey, open_journal

KEPT = timedelta(days=7)  # how long a write can be undone
MAX_SUMMARY = 300  # characters
MAX_PLAIN = 64  # characters of a value that is stored as it is after the write; a longer one is a hash
CHUNK_SIZE = 1_000  # rows

# Columns that say nothing about whether a row moved on: stamps, and what other rows shift.
UNCOMPARED = frozenset({"updated_at", "tree_version", "position"})


def record_write(apply: Callable[[OpRequest], OpOutcome], *, tool_name: str) -> Callable[[OpRequest], OpOutcome]:
    """Return the step of a handler that also stores what it changed, and answers how to undo it.

    A write that changes nothing stores nothing.
    """

    def apply_and_record(request: OpRequest) -> OpOutcome:
        with open_journal() as journal:
            outcome = apply(request)
        if UNCHANGED in outcome.warnings:
            return outcome
        if rows := _serialize_journal(journal):
            record = WriteRecord(
                subject=request.subject,
                tool_name=tool_name,
                summary=str(outcome.result.get("message", ""))[:MAX_SUMMARY],
                entity_id=outcome.entity_id or "",
                rows=rows,
                at=request.at,
            )
            record.save(force_insert=True)
            return replace(outcome, undo={"write_ids": [record.pk]})
        return outcome

    return apply_and_record


def delete_old_records(now: datetime) -> bool:
    """Delete writes that can no longer be undone. Return whether more are left."""
    old = WriteRecord.objects.filter(at__lt=now - KEPT)
    ids = list(old.order_by("at").values_list("pk", flat=True)[:CHUNK_SIZE])
    WriteRecord.objects.filter(pk__in=ids).delete()
    return len(ids) == CHUNK_SIZE


def find_subject_rows(subject: str) -> dict[str, QuerySet[Any]]:
    """Return the stored writes of a subject, by their name in an export."""
    return {"workspace_writes": WriteRecord.objects.filter(subject=subject)}


def serialize_value(value: Any) -> Any:
    """Return a column's value as JSON that the column's `to_python` reads back."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID | models.Choices) else value


def shorten(value: Any) -> Any:
    """Return a serialized value as it is stored after a write: a long one as a hash."""
    text = value if isinstance(value, str) else json_text.canonicalize(value).decode()
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()} if len(text) > MAX_PLAIN else value


@cache
def get_column_names(model: type[models.Model]) -> tuple[str, ...]:
    """Return the columns of a model without its id, with foreign keys as <name>_id."""
    return tuple(column.attname for column in model._meta.concrete_fields if not column.primary_key)


def _serialize_journal(journal: ChangeJournal) -> list[dict[str, Any]]:
    after = _read_after(journal)
    rows = [_serialize_created(key, after[key]) for key in journal.created if key in after]
    for (model, id), before in journal.before.items():
        old, new = ({name: serialize_value(each[name]) for name in before} for each in (before, after[model, id]))
        changed = [name for name in before if old[name] != new[name]]
        if changed:
            rows.append(
                {
                    "model": model._meta.model_name,
                    "id": str(id),
                    "before": {name: old[name] for name in changed},
                    "after": {name: shorten(new[name]) for name in changed if name not in UNCOMPARED},
                }
            )
    return rows


def _serialize_created(key: RowKey, columns: Columns) -> dict[str, Any]:
    model, id = key
    after = {name: shorten(serialize_value(value)) for name, value in columns.items() if name not in UNCOMPARED}
    return {"model": model._meta.model_name, "id": str(id), "before": None, "after": after}


def _read_after(journal: ChangeJournal) -> Mapping[RowKey, Columns]:
    """Return the columns of each row after the write. Only rows that a statement changed last are read again."""
    after: dict[RowKey, Columns] = {}
    unknown: dict[type[models.Model], list[UUID]] = {}
    for key in (*journal.created, *journal.before):
        if row := journal.saved.get(key):
            names = get_column_names(key[0]) if key in journal.created else journal.before[key]
            after[key] = {name: getattr(row, name) for name in names}
        else:
            unknown.setdefault(key[0], []).append(key[1])
    for model, ids in unknown.items():
        after |= {(model, columns.pop("id")): columns for columns in _read_rows(model, ids)}
    return after


def _read_rows(model: type[models.Model], ids: Iterable[UUID]) -> Iterable[Columns]:
    return model._base_manager.filter(pk__in=list(ids)).values("id", *get_column_names(model))
