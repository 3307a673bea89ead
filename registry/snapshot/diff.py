"""The differences between two snapshots (see registry.snapshot.snapshot), by entry and field."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from audit.models import AuditEntry
from registry.snapshot import snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.entries import Entry, Snapshot

__all__ = ["COPY_KINDS", "Action", "CopyChange", "Kind"]

Action = AuditEntry.Action
CHANGE_ACTIONS = (Action.ADDED, Action.CHANGED, Action.REMOVED)
EntriesByName = Mapping[str, Entry]  # by name


@dataclass(frozen=True, slots=True)
class CopyChange:
    """One entry that was added, removed or changed. Added and removed entries list all fields."""

    kind: Kind
    name: str
    action: Action
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # name -> (before, after); None: no such entry


def index_entries(content: Snapshot, kind: Kind) -> dict[str, Entry]:
    """Return a snapshot's entries of one kind, by name."""
    copy_kind = COPY_KINDS[kind]
    return {copy_kind.get_name(entry): entry for entry in copy_kind.get_entries(content)}


def diff_snapshots(before: Snapshot, after: Snapshot) -> list[CopyChange]:
    """Return all changes between two snapshots: in the order of COPY_KINDS, each kind sorted by name."""
    return [
        change
        for kind in COPY_KINDS
        for change in _diff_kind(kind, index_entries(before, kind), index_entries(after, kind))
    ]


def diff_entries(kind: Kind, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> CopyChange | None:
    """Return the change between two entries, under the new name; None if nothing changed."""
    if before is None and after is None:
        return None
    fields = {}
    for name in _order_field_names(kind, before or {}, after or {}):
        was, now = (None if entry is None else snapshot.get_value(entry, name) for entry in (before, after))
        if not is_same_json(was, now):
            fields[name] = (was, now)
    if before is not None and after is not None and not fields:
        return None
    action = Action.ADDED if before is None else Action.REMOVED if after is None else Action.CHANGED
    return CopyChange(kind, COPY_KINDS[kind].get_name(after or before or {}), action, fields)


def is_same_json(one: Any, other: Any) -> bool:
    """Return whether two values are the same JSON. Python's == is not enough: it says True == 1."""
    return one == other and _have_same_booleans(one, other)


def _have_same_booleans(one: Any, other: Any) -> bool:
    """Return whether two equal values have true and false at the same places."""
    if isinstance(one, dict):
        return all(_have_same_booleans(item, other[name]) for name, item in one.items())
    if isinstance(one, list):
        return all(map(_have_same_booleans, one, other))
    return isinstance(one, bool) == isinstance(other, bool)


def _diff_kind(kind: Kind, before: EntriesByName, after: EntriesByName) -> Iterator[CopyChange]:
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        # Most entries are the same, and then need no comparison by field.
        if not is_same_json(was, now) and (change := diff_entries(kind, was, now)):
            yield change


def _order_field_names(kind: Kind, *entries: Mapping[str, Any]) -> Iterable[str]:
    """Return the field names of some entries in reading order."""
    names = {name for entry in entries for name in entry}
    known = [name for name in COPY_KINDS[kind].fields if name in names]
    return dict.fromkeys([*known, *sorted(names)])
