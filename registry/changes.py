"""The differences between two snapshots (see registry.snapshot), by entry and field."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from analytics.models import AuditEntry
from core import canonical
from registry import snapshot

Kind = AuditEntry.Kind
Action = AuditEntry.Action
Entries = Mapping[str, dict[str, Any]]  # by name

KINDS = (Kind.GROUP, Kind.OP, Kind.SECTION)  # groups first, because ops belong to them


@dataclass(frozen=True, slots=True)
class Change:
    """One group, op or prompt section that was added, removed or changed. Added and removed entries list all fields."""

    kind: Kind
    name: str
    action: Action
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # name -> (before, after); None: no such entry


def entries(content: Mapping[str, Any], kind: Kind) -> dict[str, dict[str, Any]]:
    """Return a snapshot's entries of one kind, by name (a path, or prompt/name for a section)."""
    if kind == Kind.GROUP:
        return {entry["path"]: entry for entry in content["groups"]}
    if kind == Kind.OP:
        return {entry["op"]: entry for entry in content["ops"]}
    return {snapshot.section_name(entry): entry for entry in content.get("sections", [])}


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return all changes between two snapshots: groups, ops, prompt sections, each sorted by name."""
    return [change for kind in KINDS for change in _between(kind, entries(before, kind), entries(after, kind))]


def of_entry(kind: Kind, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Change | None:
    """Return the change between two entries, under the new name; None if nothing changed."""
    if before is None and after is None:
        return None
    fields = {}
    for name in _in_order(before or {}, after or {}):
        was, now = (None if entry is None else snapshot.value(entry, name) for entry in (before, after))
        if not same(was, now):
            fields[name] = (was, now)
    if before is not None and after is not None and not fields:
        return None
    action = Action.ADDED if before is None else Action.REMOVED if after is None else Action.CHANGED
    return Change(kind, name_of(kind, after or before or {}), action, fields)


def name_of(kind: Kind, entry: Mapping[str, Any]) -> str:
    """Return the name that identifies an entry: its path, or prompt/name for a section."""
    if kind == Kind.SECTION:
        return snapshot.section_name(dict(entry))
    return str(entry["path" if kind == Kind.GROUP else "op"])


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON. Python's == is not enough: it says True == 1."""
    if one != other:
        return False
    if not isinstance(one, dict | list) or _sorted(one) == _sorted(other):
        return True
    return canonical.dumps(one) == canonical.dumps(other)  # slower, but treats 1.0 and 1 as equal


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _between(kind: Kind, before: Entries, after: Entries) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if not _alike(was, now) and (change := of_entry(kind, was, now)):
            yield change


def _alike(one: Any, other: Any) -> bool:
    """Return True only if two entries are certainly the same. Most are, and then need no comparison by field."""
    try:
        return one == other and _sorted(one) == _sorted(other)
    except orjson.JSONEncodeError:  # orjson cannot write it; `same` then compares field by field
        return False


def _in_order(*found: Mapping[str, Any]) -> Iterable[str]:
    """Return the field names of some entries in reading order."""
    names = {name for entry in found for name in entry}
    known = [name for name in (*snapshot.OP_FIELDS, *snapshot.SECTION_FIELDS) if name in names]
    return dict.fromkeys([*known, *sorted(names)])
