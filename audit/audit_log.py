"""Write the audit log: changes of rows and other actions, and read its entries in words."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model

from audit.models import AuditEntry
from core import manifest

AuditValues = Mapping[str, Any]  # a row's fields as JSON values
VERSION_LENGTH = 64  # of a release, which is shown in 12 characters
LABELS = {"is_guarded": "stop automatically"}  # of fields that pages call by another name
NO_NAMES: Mapping[str, str] = {}
EMPTY: tuple[Any, ...] = (None, "", [])
MAX_SHOWN_VALUE = 40  # characters of a value


def find_user_id(name: str) -> int | None:
    """Return the id of the account with a name; None for a command or an unknown name."""
    accounts = get_user_model().objects.filter(username=name)
    return accounts.values_list("pk", flat=True).first()


def record_change(
    kind: str,
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
    _check_kind(kind)
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
    kind: str,
    name: str,
    action: AuditEntry.Action,
    *,
    by: str,
    at: datetime,
    note: str = "",
    changes: Mapping[str, list[Any]] | None = None,
) -> AuditEntry:
    """Record what somebody did, if no row was added, changed or removed. `changes` is {field: [before, after]}."""
    _check_kind(kind)
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


def _check_kind(kind: str) -> None:
    if kind not in manifest.get().audit_kinds:
        raise ValueError(f"No manifest declares the audit kind {kind}. Add it to audit_kinds of its app's manifest.")


def record_export(kind: str, name: str, *, by: str, at: datetime) -> None:
    """Record that somebody downloaded rows."""
    record_action(kind, name, AuditEntry.Action.EXPORTED, by=by, at=at)


def find_versions(entries: Iterable[AuditEntry]) -> set[str]:
    """Return the versions of releases that entries are about, or have before or after."""
    values = (value for each in entries for pair in ([each.name], *each.changes.values()) for value in pair)
    return {value for value in values if isinstance(value, str) and _is_version(value)}


def describe_entry(entry: AuditEntry, releases: Mapping[str, str] = NO_NAMES) -> str:
    """Return what was done, such as "cohort copy-b changed". `releases` are the names of releases by version."""
    kind = "" if entry.kind == "sign_in" else entry.kind_label
    declared = manifest.get().audit_kinds.get(entry.kind)
    is_draft = declared is not None and declared.names_draft and entry.name not in releases
    name = "" if is_draft else _name_version(entry.name, releases)
    return " ".join(filter(None, (kind, name, describe_action(entry))))


def describe_action(entry: AuditEntry) -> str:
    """Return the verb of an entry, such as "changed", or what its kind calls such a change."""
    declared = manifest.get().audit_kinds.get(entry.kind)
    if declared is not None and entry.action == AuditEntry.Action.CHANGED:
        for name, verbs in declared.verbs.items():
            if name in entry.changes and (verb := verbs.get(entry.changes[name][1], verbs.get(None, ""))):
                return verb
    return name_action(entry.action)


def name_action(action: str) -> str:
    """Return the word for an action."""
    return "requested" if action == AuditEntry.Action.ASKED else str(AuditEntry.Action(action).label)


def describe_changes(entry: AuditEntry, releases: Mapping[str, str] = NO_NAMES) -> str:
    """Return the changed fields, with short values before and after: "percentage 5 → 25"."""
    if entry.action in (AuditEntry.Action.ADDED, AuditEntry.Action.REMOVED):
        return ""
    return ", ".join(
        _describe_field(name, before, after, releases)
        for name, (before, after) in sorted(entry.changes.items())
        if not (before in EMPTY and after in EMPTY)
    )


def _describe_field(name: str, before: Any, after: Any, releases: Mapping[str, str]) -> str:
    values = [_shorten_value(value, releases) for value in (before, after)]
    if name == "percentage":
        return " → ".join(f"{value}%" for value in values)
    if name == "is_on" and isinstance(after, bool):
        return "turned on" if after else "turned off"
    label = LABELS.get(name) or name.removeprefix("is_").replace("_", " ")
    return label if None in values else f"{label} {' → '.join(map(str, values))}"


def _shorten_value(value: Any, releases: Mapping[str, str]) -> str | None:
    """Return a value in few characters, or None if it is too long."""
    if value in EMPTY:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]  # a cohort's only rule
    if isinstance(value, dict | list):
        return None
    text = _name_version(f"{value:g}" if isinstance(value, float) else str(value), releases)
    return text if len(text) <= MAX_SHOWN_VALUE else None


def _name_version(text: str, releases: Mapping[str, str]) -> str:
    return releases.get(text, text[:12]) if _is_version(text) else text


def _is_version(text: str) -> bool:
    return len(text) == VERSION_LENGTH and text.isalnum()
