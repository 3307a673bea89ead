"""The history of copy: every change, with who made it, when, and the values before."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Max, Q

from analytics import audit
from analytics.models import AuditEntry
from registry.drafts.bulk_writes import BATCH_SIZE
from registry.models import Op
from registry.snapshot.diff import Action, CopyChange, Kind


def record_changes(changes: Iterable[CopyChange], *, by: str, at: datetime, note: str = "") -> None:
    """Record changes in the history, after they were made.

    An added entry is recorded without its fields: they can be derived from the current entry and later changes.
    """
    by_id = audit.find_user_id(by)
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


def list_editors(*, since: datetime | None) -> dict[tuple[str, str], list[str]]:
    """Return who changed each entry after `since`, most recent first: {(kind, name): [by]}."""
    editors_by_entry: dict[tuple[str, str], list[str]] = {}
    entries = AuditEntry.objects.filter(**{"time__gt": since} if since else {}).order_by("-id")
    for kind, name, by in entries.values_list("kind", "name", "by"):
        names = editors_by_entry.setdefault((kind, name), [])
        if by not in names:
            names.append(by)
    return editors_by_entry


def list_edited_by(*, name: str, user_id: int | None, since: datetime | None) -> set[tuple[str, str]]:
    """Return the entries that one person changed after `since`: {(kind, name)}.

    People are compared by the id of their account. A change without one, as by a command, is compared by its name.
    """
    is_theirs = Q(by_id__isnull=True, by=name) | (Q(by_id=user_id) if user_id is not None else Q())
    entries = AuditEntry.objects.filter(is_theirs, **{"time__gt": since} if since else {})
    return set(entries.values_list("kind", "name").distinct())


def get_last_editors(kind: Kind, names: Iterable[str]) -> dict[str, str]:
    """Return {name: last editor} for some entries of one kind."""
    last = AuditEntry.objects.filter(kind=kind, name__in=list(names)).order_by().values("name").annotate(id=Max("id"))
    return dict(AuditEntry.objects.filter(id__in=last.values("id")).values_list("name", "by"))
