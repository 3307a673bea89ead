"""The history of copy: what forms and bulk actions changed, who changed it, and the values before."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, Q, QuerySet

from audit import audit_log
from audit.models import AuditEntry
from core.text import json_text
from registry.drafts.bulk_writes import BATCH_SIZE
from registry.models import Example, Op, OpAlias, PolicyRule
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, KIND_BY_MODEL, CopyRow, Kind
from registry.snapshot.diff import Action, CopyChange

EntriesByKey = dict[Any, dict[str, Any]]  # primary key -> entry


def record_changes(changes: Iterable[CopyChange], *, by: str, at: datetime, note: str = "") -> None:
    """Record changes in the history, after they were made.

    An added entry is recorded without its fields: they can be derived from the current entry and later changes.
    """
    by_id = audit_log.find_user_id(by)
    entries = [
        AuditEntry(
            time=at,
            by=by,
            by_id=by_id,
            kind=change.kind,
            name=change.name,
            action=change.action,
            changes={} if change.action == Action.ADDED else change.fields,
            note=note[:500],
        )
        for change in changes
    ]
    AuditEntry.objects.bulk_create(entries, batch_size=BATCH_SIZE)
    ops = [entry.name for entry in entries if entry.kind == Kind.OP]
    for start in range(0, len(ops), BATCH_SIZE):
        Op.objects.filter(op__in=ops[start : start + BATCH_SIZE]).update(is_counted=False)


def list_changes(kind: Kind, name: str) -> list[AuditEntry]:
    """Return the recorded changes of one entry, newest first."""
    return list(AuditEntry.objects.filter(kind=kind, name=name).order_by("-id"))


@dataclass(frozen=True)
class FreezeTimes:
    """When the entries of the live release were frozen. What was done to them after that is not published."""

    whole: datetime | None = None  # when the whole draft was frozen; None: never, or nothing is live
    selected: Mapping[tuple[str, str], datetime] = field(default_factory=dict)  # (kind, name) of those frozen later

    def filter_later(self, entries: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
        """Return the audit entries after the whole draft was frozen; see `is_later` for the others."""
        return entries.filter(time__gt=self.whole) if self.whole else entries

    def is_later(self, time: datetime, kind: str, name: str) -> bool:
        """Return whether something was done to an entry after it was frozen."""
        frozen_at = self.selected.get((kind, name), self.whole)
        return frozen_at is None or time > frozen_at


def list_editors(*, since: FreezeTimes) -> dict[tuple[str, str], list[str]]:
    """Return who changed each entry since it was frozen, most recent first: {(kind, name): [by]}."""
    editors_by_entry: dict[tuple[str, str], list[str]] = {}
    entries = since.filter_later(AuditEntry.objects.order_by("-id"))
    for kind, name, by, time in entries.values_list("kind", "name", "by", "time"):
        names = editors_by_entry.setdefault((kind, name), [])
        if by not in names and since.is_later(time, kind, name):
            names.append(by)
    return editors_by_entry


def list_edited_by(*, name: str, user_id: int | None, since: FreezeTimes) -> set[tuple[str, str]]:
    """Return the entries that one person changed since they were frozen: {(kind, name)}.

    People are compared by the id of their account. Changes without one, such as those by commands, are compared by
    name.
    """
    is_theirs = Q(by_id__isnull=True, by=name) | (Q(by_id=user_id) if user_id is not None else Q())
    entries = since.filter_later(AuditEntry.objects.filter(is_theirs)).order_by()
    latest = entries.values("kind", "name").annotate(latest=Max("time")).values_list("kind", "name", "latest")
    return {(kind, entry) for kind, entry, time in latest if since.is_later(time, kind, entry)}


def get_last_editors(kind: Kind, names: Iterable[str]) -> dict[str, str]:
    """Return {name: last editor} for some entries of one kind."""
    last = AuditEntry.objects.filter(kind=kind, name__in=list(names)).order_by().values("name").annotate(id=Max("id"))
    return dict(AuditEntry.objects.filter(id__in=last.values("id")).values_list("name", "by"))


class ChangeTracker:
    """Remembers rows as they were before a change, and records what changed."""

    def __init__(self) -> None:
        self._before: dict[type[CopyRow], EntriesByKey] = {}
        self._new: dict[type[CopyRow], set[Any]] = {}

    def remember_rows(self, rows: Iterable[CopyRow]) -> None:
        """Remember rows as they are in the database. A row seen before keeps its first state."""
        keys: dict[type[CopyRow], list[Any]] = {}
        for row in rows:
            keys.setdefault(type(row), []).append(row.pk)
        for model, row_keys in keys.items():
            self._before[model] = _read_entries(model, row_keys) | self._before.get(model, {})

    def remember_new(self, row: CopyRow) -> None:
        """Remember a row as new."""
        self._new.setdefault(type(row), set()).add(row.pk)

    def record_changes(self, *, by: str, at: datetime, note: str = "") -> list[CopyChange]:
        """Record the changes since then in the history, and start over. Return the changes."""
        recorded_changes = []
        for model in self._before.keys() | self._new.keys():
            before = self._before.get(model, {})
            after = _read_entries(model, {*before, *self._new.get(model, ())})
            for key in {*before, *after}:
                if change := diff.diff_entries(KIND_BY_MODEL[model], before.get(key), after.get(key)):
                    recorded_changes.append(change)
        record_changes(recorded_changes, by=by, at=at, note=note)
        self._before, self._new = {}, {}
        return recorded_changes


@contextmanager
def track_changes(rows: Iterable[CopyRow], *, by: str, at: datetime, note: str = "") -> Iterator[None]:
    """Record in the history what the block does to some rows, including update() and delete()."""
    tracker = ChangeTracker()
    with transaction.atomic():
        tracker.remember_rows(rows)
        yield
        tracker.record_changes(by=by, at=at, note=note)


def get_copy_row(row: Any) -> CopyRow:
    """Return the row of copy that a row belongs to: a rule's, example's or alias's op, else the row itself."""
    return row.op if isinstance(row, PolicyRule | Example | OpAlias) else row


def make_stamp(row: CopyRow) -> str:
    """Return a stamp that changes whenever the row changes: `<hash of its entry>.<id of its last change>`."""
    last = _query_changes(row).order_by("-id").values_list("id", flat=True).first()
    return f"{json_text.try_digest(snapshot.row_to_entry(row))}.{last or 0}"


def list_changes_since(row: CopyRow, seen: str) -> list[AuditEntry]:
    """Return the changes of a row after a stamp was made, oldest first."""
    last = seen.rpartition(".")[2]
    if not (last.isascii() and last.isdigit() and len(last) < 19):
        return []  # not a valid stamp
    return list(_query_changes(row).filter(id__gt=int(last)).order_by("id"))


def get_history_key(row: CopyRow) -> tuple[Kind, str]:
    """Return the kind and name of a row in the history."""
    kind = KIND_BY_MODEL[type(row)]
    return kind, COPY_KINDS[kind].get_row_name(row)


def _query_changes(row: CopyRow) -> Any:
    kind, name = get_history_key(row)
    return AuditEntry.objects.filter(kind=kind, name=name)


def _read_entries(model: type[CopyRow], keys: Iterable[Any]) -> EntriesByKey:
    row_keys, entries = list(keys), EntriesByKey()
    rows: Any = model._default_manager.all()
    if model is Op:
        rows = rows.select_related("connection").prefetch_related("rules", "examples", "aliases")
    for start in range(0, len(row_keys), BATCH_SIZE):
        batch = rows.filter(pk__in=row_keys[start : start + BATCH_SIZE])
        entries |= {row.pk: snapshot.row_to_entry(row) for row in batch}
    return entries
