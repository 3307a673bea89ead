"""What is different between two snapshots (see registry.snapshot), entry by entry and field by field."""

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

KINDS = (Kind.GROUP, Kind.OP, Kind.SECTION)  # groups first: ops lie in them


@dataclass(frozen=True, slots=True)
class Change:
    """One group, op or prompt section that is not what it was; of one that was added or removed, all its fields."""

    kind: Kind
    name: str
    action: Action
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # name -> before, after; None: no such entry


def entries(content: Mapping[str, Any], kind: Kind) -> dict[str, dict[str, Any]]:
    """Return the entries of one kind of a snapshot by name: path, or prompt/name."""
    if kind == Kind.GROUP:
        return {entry["path"]: entry for entry in content["groups"]}
    if kind == Kind.OP:
        return {entry["op"]: entry for entry in content["ops"]}
    return {snapshot.section_name(entry): entry for entry in content.get("sections", [])}


def between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Return all changes from one snapshot to another: groups, ops, prompt sections, each by name."""
    return [change for kind in KINDS for change in _between(kind, entries(before, kind), entries(after, kind))]


def of_entry(kind: Kind, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Change | None:
    """Return the change from one entry to another, named as it is called afterwards; None where nothing changed."""
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
    """Return what an entry is known by."""
    if kind == Kind.SECTION:
        return snapshot.section_name(dict(entry))
    return str(entry["path" if kind == Kind.GROUP else "op"])


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: to Python true is 1."""
    if one != other:
        return False
    if not isinstance(one, dict | list) or _sorted(one) == _sorted(other):
        return True
    return canonical.dumps(one) == canonical.dumps(other)  # slower, but 1.0 is 1 to it


def _sorted(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _between(kind: Kind, before: Entries, after: Entries) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if not _alike(was, now) and (change := of_entry(kind, was, now)):
            yield change


def _alike(one: Any, other: Any) -> bool:
    """Whether two entries are surely the same: of thousands all but a few are, and need no look at each field."""
    try:
        return one == other and _sorted(one) == _sorted(other)
    except orjson.JSONEncodeError:  # what orjson cannot write; `same` takes what it compares one by one
        return False


def _in_order(*found: Mapping[str, Any]) -> Iterable[str]:
    """Return the fields of some entries in the order in which a person reads them."""
    names = {name for entry in found for name in entry}
    known = [name for name in (*snapshot.OP_FIELDS, *snapshot.SECTION_FIELDS) if name in names]
    return dict.fromkeys([*known, *sorted(names)])
