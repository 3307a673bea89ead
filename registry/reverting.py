"""Revert one change of copy, keeping later changes of other fields and entries."""

from datetime import datetime
from typing import Any

from analytics.models import AuditEntry
from registry import draft, snapshot
from registry.changes import KINDS, Action, Change, Kind, same


class NotRevertible(Exception):
    """The change cannot be reverted. The message says why."""


def revert(entry: AuditEntry, *, by: str, at: datetime) -> Change:
    """Revert one change of copy. The revert is recorded as a new change.

    Raises NotRevertible if it is not a change of copy, or if the same fields were changed again since. Raises
    draft.Refused if the revert would add problems to the draft.
    """
    kind = Kind(entry.kind)
    if kind not in KINDS:
        raise NotRevertible(f"Changes of a {kind.label} cannot be reverted here.")
    now = draft.read(kind, entry.name)
    if entry.action == Action.REMOVED:
        if now is not None:
            raise NotRevertible(f"{entry.name} exists again.")
        was: dict[str, Any] | None = _before(entry, {})
    elif now is None:
        raise NotRevertible(f"{entry.name} no longer exists.")
    elif entry.action == Action.ADDED:
        was = None
        _refuse_if_shipped(kind, entry.name)
        _refuse_if_changed_since(entry)
    else:
        _refuse_if_moved(entry, now)
        was = _before(entry, now)
    note = f"Reverted what {entry.by} {entry.action} at {entry.time:%Y-%m-%d %H:%M}"
    return draft.put(kind, entry.name, was, by=by, at=at, note=note)


def _before(entry: AuditEntry, now: dict[str, Any]) -> dict[str, Any]:
    was = now | {name: before for name, (before, _) in entry.changes.items()}
    return {name: value for name, value in was.items() if value is not None}


def _refuse_if_shipped(kind: Kind, name: str) -> None:
    row = draft.row(kind, name)
    if row is not None and row.shipped is not None:
        raise NotRevertible(f"{name} is shipped and would come back with the next upgrade. Retire it instead.")


def _refuse_if_changed_since(entry: AuditEntry) -> None:
    later = AuditEntry.objects.filter(kind=entry.kind, name=entry.name, id__gt=entry.id).order_by("-id").first()
    if later is not None:
        raise NotRevertible(f"{later.by} {later.action} {entry.name} later. Revert that first.")


def _refuse_if_moved(entry: AuditEntry, now: dict[str, Any]) -> None:
    moved = [name for name, (_, after) in entry.changes.items() if not same(snapshot.value(now, name), after)]
    if moved:
        raise NotRevertible(f"{entry.name} was changed again later: {', '.join(moved)}. Revert that first.")
