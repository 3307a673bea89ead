"""Revert one change of copy, keeping later changes of other fields and entries."""

from datetime import datetime
from typing import Any, NamedTuple

from analytics.models import AuditEntry
from registry.drafts import draft
from registry.snapshot import snapshot
from registry.snapshot.diff import COPY_KINDS, Action, CopyChange, Kind, is_same_json


class NotRevertible(Exception):
    """The change cannot be reverted. The message says why."""


class PlannedRevert(NamedTuple):
    """What a revert would do: an entry of the draft as it is and as it would be. None: there is no such entry."""

    kind: Kind
    current: dict[str, Any] | None
    previous: dict[str, Any] | None


def revert_change(entry: AuditEntry, *, by: str, at: datetime) -> CopyChange:
    """Revert one change of copy. The revert is recorded as a new change.

    Raises the errors of plan_revert, and draft.DraftRefused if the revert would add problems to the draft.
    """
    plan = plan_revert(entry)
    note = f"Reverted what {entry.by} {entry.action} at {entry.time:%Y-%m-%d %H:%M}"
    return draft.write_entry(plan.kind, entry.name, plan.previous, by=by, at=at, note=note)


def plan_revert(entry: AuditEntry) -> PlannedRevert:
    """Return what reverting a change would do to the draft, without doing it.

    Raises NotRevertible if it is not a change of copy, or if the same fields were changed again since.
    """
    kind = Kind(entry.kind)
    if entry.action not in list(Action):
        raise NotRevertible("It changed nothing in the draft.")
    if kind not in COPY_KINDS:
        raise NotRevertible(f"Changes of a {kind.label} cannot be reverted here.")
    current = draft.read_entry(kind, entry.name)
    if entry.action == Action.REMOVED:
        if current is not None:
            raise NotRevertible(f"{entry.name} exists again.")
        previous: dict[str, Any] | None = _restore_previous_values(entry, {})
    elif current is None:
        raise NotRevertible(f"{entry.name} no longer exists.")
    elif entry.action == Action.ADDED:
        previous = None
        _refuse_if_shipped(kind, entry.name)
        _refuse_if_changed_since(entry)
    else:
        _refuse_if_fields_changed(entry, current)
        previous = _restore_previous_values(entry, current)
    return PlannedRevert(kind, current, previous)


def _restore_previous_values(entry: AuditEntry, current: dict[str, Any]) -> dict[str, Any]:
    previous = current | {name: before for name, (before, _) in entry.changes.items()}
    return {name: value for name, value in previous.items() if value is not None}


def _refuse_if_shipped(kind: Kind, name: str) -> None:
    row = draft.get_row(kind, name)
    if row is not None and row.shipped is not None:
        raise NotRevertible(f"{name} is shipped and would come back with the next upgrade. Retire it instead.")


def _refuse_if_changed_since(entry: AuditEntry) -> None:
    later = AuditEntry.objects.filter(kind=entry.kind, name=entry.name, id__gt=entry.id).order_by("-id").first()
    if later is not None:
        raise NotRevertible(f"{later.by} {later.action} {entry.name} later. Revert that first.")


def _refuse_if_fields_changed(entry: AuditEntry, current: dict[str, Any]) -> None:
    changed = [
        name for name, (_, after) in entry.changes.items() if not is_same_json(snapshot.get_value(current, name), after)
    ]
    if changed:
        raise NotRevertible(f"{entry.name} was changed again later: {', '.join(changed)}. Revert that first.")
