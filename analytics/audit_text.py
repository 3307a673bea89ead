"""Changes of the audit log in words."""

from typing import Any

from analytics.models import AuditEntry

VERSION_LENGTH = 64  # of a release, which is shown in 12 characters
LABELS = {"is_guarded": "stop automatically"}  # of fields whose name is not what the page calls them
MAX_SHOWN_VALUE = 40  # characters of a value


def describe_entry(entry: AuditEntry) -> str:
    """Return what was done, such as "cohort copy-b changed"."""
    kind = "" if entry.kind == AuditEntry.Kind.SIGN_IN else entry.get_kind_display()
    return f"{kind} {_shorten_version(entry.name)} {entry.get_action_display()}".strip()


def describe_changes(entry: AuditEntry) -> str:
    """Return the changed fields, and of short values those before and after: "percentage 5 → 25"."""
    if entry.action in (AuditEntry.Action.ADDED, AuditEntry.Action.REMOVED):
        return ""
    return ", ".join(_describe_field(name, *pair) for name, pair in sorted(entry.changes.items()))


def _describe_field(name: str, before: Any, after: Any) -> str:
    values = [_shorten_value(value) for value in (before, after)]
    if name == "percentage":
        return " → ".join(f"{value}%" for value in values)
    label = LABELS.get(name) or name.removeprefix("is_").replace("_", " ")
    return label if None in values else f"{label} {' → '.join(map(str, values))}"


def _shorten_value(value: Any) -> str | None:
    """Return a value in few characters, or None if it is too long for that."""
    if value in (None, "", []):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        value = value[0]  # a cohort's only rule
    if isinstance(value, dict | list):
        return None
    text = _shorten_version(f"{value:g}" if isinstance(value, float) else str(value))
    return text if len(text) <= MAX_SHOWN_VALUE else None


def _shorten_version(text: str) -> str:
    return text[:12] if len(text) == VERSION_LENGTH and text.isalnum() else text
