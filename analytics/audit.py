"""Audit log of changes to rows other than copy, such as connections, flags and cohorts, and of other actions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model

from analytics.models import AuditEntry

AuditValues = Mapping[str, Any]  # a row's fields as JSON values


def find_user_id(name: str) -> int | None:
    """Return the id of the account with a name; None for a command, or a name that nobody has."""
    accounts = get_user_model().objects.filter(username=name)
    return accounts.values_list("pk", flat=True).first()


def record_change(
    kind: AuditEntry.Kind,
    name: str,
    before: AuditValues | None,
    after: AuditValues | None,
    *,
    by: str,
    at: datetime,
    note: str = "",
) -> AuditEntry | None:
    """Record a change of a row. `before` is None for an added row, `after` for a removed one.

    Return None, and record nothing, if nothing changed.
    """
    fields = [*dict.fromkeys([*(before or ()), *(after or ())])]
    changes = {
        field: [(before or {}).get(field), (after or {}).get(field)]
        for field in fields
        if (before or {}).get(field) != (after or {}).get(field)
    }
    if not changes or (before is None and after is None):
        return None
    action = AuditEntry.Action.ADDED if before is None else AuditEntry.Action.CHANGED
    action = AuditEntry.Action.REMOVED if after is None else action
    return AuditEntry.objects.create(
        time=at,
        by=by,
        by_id=find_user_id(by),
        kind=kind,
        name=name,
        action=action,
        changes=changes,
        note=note[:500],
    )


def record_action(
    kind: AuditEntry.Kind,
    name: str,
    action: AuditEntry.Action,
    *,
    by: str,
    at: datetime,
    note: str = "",
    changes: Mapping[str, list[Any]] | None = None,
) -> AuditEntry:
    """Record what somebody did, if no row was added, changed or removed. `changes` is {field: [before, after]}."""
    return AuditEntry.objects.create(
        time=at,
        by=by[:150],
        by_id=find_user_id(by),
        kind=kind,
        name=name[:200],
        action=action,
        note=note[:500],
        changes=dict(changes or {}),
    )


def record_export(kind: AuditEntry.Kind, name: str, *, by: str, at: datetime) -> None:
    """Record that somebody downloaded rows."""
    record_action(kind, name, AuditEntry.Action.EXPORTED, by=by, at=at)
