"""Track changes that forms and bulk actions make to rows of copy, by comparing before and after, for the history."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction

from analytics.models import AuditEntry
from core import canonical
from registry import changes, draft, history
from registry.changes import Change, Kind
from registry.models import Example, Group, Op, OpAlias, PolicyRule, PromptSection
from registry.writing import BATCH

Copy = Group | Op | PromptSection
Seen = dict[Any, dict[str, Any]]  # primary key -> entry


class Watch:
    """Remembers rows as they were before a change, and records what changed."""

    def __init__(self) -> None:
        self._before: dict[type[Copy], Seen] = {}
        self._new: dict[type[Copy], set[Any]] = {}

    def look(self, rows: Iterable[Copy]) -> None:
        """Remember rows as they are in the database. A row seen before keeps its first state."""
        keys: dict[type[Copy], list[Any]] = {}
        for row in rows:
            keys.setdefault(type(row), []).append(row.pk)
        for model, wanted in keys.items():
            self._before[model] = _entries(model, wanted) | self._before.get(model, {})

    def add(self, row: Copy) -> None:
        """Remember a row as new."""
        self._new.setdefault(type(row), set()).add(row.pk)

    def record(self, *, by: str, at: datetime, note: str = "") -> list[Change]:
        """Record what has changed since in the history, and start over. Return the changes."""
        found = []
        for model in self._before.keys() | self._new.keys():
            before = self._before.get(model, {})
            after = _entries(model, {*before, *self._new.get(model, ())})
            for key in {*before, *after}:
                if change := changes.of_entry(draft.KIND_OF[model], before.get(key), after.get(key)):
                    found.append(change)
        history.record(found, by=by, at=at, note=note)
        self._before, self._new = {}, {}
        return found


@contextmanager
def recorded(rows: Iterable[Copy], *, by: str, at: datetime, note: str = "") -> Iterator[None]:
    """Record in the history what the block does to some rows, including update() and delete()."""
    watch = Watch()
    with transaction.atomic():
        watch.look(rows)
        yield
        watch.record(by=by, at=at, note=note)


def copy_of(row: Any) -> Copy:
    """Return the row of copy that a row belongs to: a rule's, example's or alias's op, else the row itself."""
    return row.op if isinstance(row, PolicyRule | Example | OpAlias) else row


def stamp(row: Copy) -> str:
    """Return a stamp that changes whenever the row changes: `<hash of its entry>.<id of its last change>`."""
    last = _changes_of(row).order_by("-id").values_list("id", flat=True).first()
    return f"{canonical.digest(draft.entry_of(row))}.{last or 0}"


def since(row: Copy, seen: str) -> list[AuditEntry]:
    """Return the changes of a row after a stamp was made, oldest first."""
    last = seen.rpartition(".")[2]
    if not (last.isascii() and last.isdigit() and len(last) < 19):
        return []  # not a valid stamp
    return list(_changes_of(row).filter(id__gt=int(last)).order_by("id"))


def named(row: Copy) -> tuple[Kind, str]:
    """Return the kind and name of a row in the history."""
    kind = draft.KIND_OF[type(row)]
    return kind, changes.name_of(kind, draft.entry_of(row))


def _changes_of(row: Copy) -> Any:
    kind, name = named(row)
    return AuditEntry.objects.filter(kind=kind, name=name)


def _entries(model: type[Copy], keys: Iterable[Any]) -> Seen:
    wanted, found = list(keys), Seen()
    rows: Any = model._default_manager.all()
    if model is Op:
        rows = rows.select_related("connection").prefetch_related("rules", "examples", "aliases")
    for start in range(0, len(wanted), BATCH):
        found |= {row.pk: draft.entry_of(row) for row in rows.filter(pk__in=wanted[start : start + BATCH])}
    return found
