"""What is switched off, kept in memory: ops, groups with everything below them, connections with all their ops.

In memory, because a call must not query the database for it. Cached answers depend on the current Switches, so that
nothing is answered from a cache after it is switched off.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from registry.models import ROOT, Switch, parent_of


@dataclass(frozen=True, slots=True, eq=False)
class Switches:
    """What is off at one moment: {name: reason}. Compared by identity, so that it is a fast cache key."""

    ops: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    connections: Mapping[str, str] = field(default_factory=dict)

    def told(self, path: str, *, aliases: Collection[str] = (), connection: str = "") -> str:
        """Return a sentence saying why an op or group is off; empty if it is on.

        Aliases count, because an op that was renamed since has its old name as an alias.
        """
        for name in (path, *aliases):
            if name in self.ops:
                return _sentence(f"{path} is switched off", self.ops[name])
        node = path
        while self.groups:
            if node in self.groups:
                whole = "" if node == path else f" with its group {node}"
                return _sentence(f"{path} is switched off{whole}", self.groups[node])
            if node == ROOT:
                break
            node = parent_of(node)
        if connection in self.connections:
            return _sentence(f"{path} is switched off with its connection {connection}", self.connections[connection])
        return ""


NOTHING_OFF = Switches()


def current() -> Switches:
    """Return the current switches from memory, at most half a second old. Reads the database on first use."""
    if _current is None:
        follow()
    return _current or NOTHING_OFF


def follow() -> None:
    """Reload the switches, and replace those in memory if they changed. Takes one query."""
    global _current, _rows
    rows = list(Switch.objects.off().order_by("kind", "name").values_list("kind", "name", "reason"))
    if _current is not None and rows == _rows:
        return
    off: dict[str, dict[str, str]] = {kind: {} for kind in Switch.Kind.values}
    for kind, name, reason in rows:
        off[kind][name] = reason
    found = Switches(off[Switch.Kind.OP], off[Switch.Kind.GROUP], off[Switch.Kind.CONNECTION])
    _rows, _current = rows, found if rows else NOTHING_OFF


def forget() -> None:
    """Clear the switches from memory, as in a new process."""
    global _current, _rows
    _current, _rows = None, []


_current: Switches | None = None
_rows: list[tuple[str, str, str]] = []


def _sentence(beginning: str, reason: str) -> str:
    return f"{beginning}: {reason}" + ("" if reason[-1] in ".!?" else ".")
