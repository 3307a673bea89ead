"""What is switched off, kept in memory: ops, groups with everything below them, connections with all their ops.

In memory, because a call must not query the database for it. Cached answers depend on the current Switches, so that
nothing is answered from a cache after it is switched off.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from threading import Lock

from core.background.poller import PolledQuery, Row
from registry.models import ROOT, Switch, get_parent_path


@dataclass(frozen=True, slots=True, eq=False)
class Switches:
    """What is off at one moment: {name: reason}. Compared by identity, so that it is a fast cache key."""

    ops: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    connections: Mapping[str, str] = field(default_factory=dict)

    def explain_off(self, path: str, *, aliases: Collection[str] = (), connection: str = "") -> str:
        """Return a sentence saying why an op or group is off; empty if it is on.

        Aliases count, because an op that was renamed since has its old name as an alias.
        """
        for name in (path, *aliases):
            if name in self.ops:
                return _format_reason(f"{path} is switched off", self.ops[name])
        node = path
        while self.groups:
            if node in self.groups:
                suffix = "" if node == path else f" with its group {node}"
                return _format_reason(f"{path} is switched off{suffix}", self.groups[node])
            if node == ROOT:
                break
            node = get_parent_path(node)
        if connection in self.connections:
            return _format_reason(
                f"{path} is switched off with its connection {connection}", self.connections[connection]
            )
        return ""


ALL_ON = Switches()


def get_switches() -> Switches:
    """Return the current switches from memory, at most half a second old. Reads the database on first use."""
    if _current is None:
        refresh_switches()
    return _current or ALL_ON


def is_anything_off() -> bool:
    """Return whether any op, group or connection is off."""
    return get_switches() is not ALL_ON


def refresh_switches() -> None:
    """Reload the switches, and replace those in memory if they changed. Takes one query."""
    global _current, _rows
    with _refreshing:
        rows = _query.fetch_rows()
        if _current is not None and rows == _rows:
            return
        off: dict[str, dict[str, str]] = {kind: {} for kind in Switch.Kind.values}
        for kind, name, reason in rows:
            off[kind][name] = reason
        new_switches = Switches(off[Switch.Kind.OP], off[Switch.Kind.GROUP], off[Switch.Kind.CONNECTION])
        _rows, _current = rows, new_switches if rows else ALL_ON


def clear_switches() -> None:
    """Clear the switches from memory, as in a new process."""
    global _current, _rows
    _current, _rows = None, []


_refreshing = Lock()
_current: Switches | None = None
_rows: list[Row] = []
_query = PolledQuery(lambda: Switch.objects.off().order_by("kind", "name").values_list("kind", "name", "reason"))


def _format_reason(beginning: str, reason: str) -> str:
    return f"{beginning}: {reason}" + ("" if reason[-1] in ".!?" else ".")
