"""What is switched off, followed in memory: an op, a group with all below it, a connection with all that it runs.

A call must not ask the database for it, and what was answered before must not be answered from memory once it is off.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from registry.models import ROOT, Switch, parent_of


@dataclass(frozen=True, slots=True, eq=False)
class Switches:
    """What is off at one moment, by name with the reason. Equal to itself alone: what is kept for it is found fast."""

    ops: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    connections: Mapping[str, str] = field(default_factory=dict)

    def told(self, path: str, *, aliases: Collection[str] = (), connection: str = "") -> str:
        """Return the sentence that says why an op or group is off; empty where it is on.

        An op that was renamed since is known by the alias that kept its name.
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
    """Return what is off as this process knows it, at most half a second old; a process that never asked asks now."""
    if _current is None:
        follow()
    return _current or NOTHING_OFF


def follow() -> None:
    """Read what is off, and swap it in where it is another than before. One query."""
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
    """Drop what is in memory, as a new process would begin."""
    global _current, _rows
    _current, _rows = None, []


_current: Switches | None = None
_rows: list[tuple[str, str, str]] = []


def _sentence(beginning: str, reason: str) -> str:
    return f"{beginning}: {reason}" + ("" if reason[-1] in ".!?" else ".")
