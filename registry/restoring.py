"""A release back into the draft, whole or one op of it. What is live stays live until somebody publishes."""

from datetime import datetime
from typing import Any

from registry import changes, draft, releases
from registry.changes import Change, Kind
from registry.models import ROOT, Release, parent_of


class UnknownOp(Exception):
    """The release has no such op."""


def restore(release: Release, *, by: str, at: datetime, seen: str = "") -> list[Change]:
    """Make the draft what a release is: what came since goes, what went since comes back. Return what changed.

    A shipped op that goes comes back with the next upgrade. `seen` is the version that the draft had when somebody
    agreed to it. Raises draft.NothingToDo, draft.Refused, draft.Moved.
    """
    content = releases.content(release)
    return draft.write(content, whole=True, by=by, at=at, note=f"Restored release {release}", seen=seen)


def restore_op(release: Release, op: str, *, by: str, at: datetime, seen: str = "") -> list[Change]:
    """Make one op of the draft what it is in a release, with the groups above it where they are gone.

    Raises UnknownOp, draft.NothingToDo, draft.Refused, draft.Moved.
    """
    wanted = op_of(release, op)
    return draft.write(wanted, by=by, at=at, note=f"Restored from release {release}", seen=seen)


def op_of(release: Release, op: str) -> dict[str, Any]:
    """Return one op of a release, and the groups above it that the draft has not, as a snapshot. Raises UnknownOp."""
    content = releases.content(release)
    entry = changes.entries(content, Kind.OP).get(op)
    if entry is None:
        raise UnknownOp(f"Release {release} has no op {op}.")
    return {"format": 1, "groups": _missing_above(op, content), "ops": [entry]}


def _missing_above(op: str, content: dict[str, Any]) -> list[dict[str, Any]]:
    groups = changes.entries(content, Kind.GROUP)
    above, path = [], parent_of(op)
    while path != ROOT:
        if path in groups and draft.read(Kind.GROUP, path) is None:
            above.append(groups[path])
        path = parent_of(path)
    return above
