"""Restore a release, or one op of it, into the draft. The live release does not change."""

from datetime import datetime
from typing import Any

from registry import changes, draft, releases
from registry.changes import Change, Kind
from registry.models import ROOT, Release, parent_of


class UnknownOp(Exception):
    """The release does not have this op."""


def restore(release: Release, *, by: str, at: datetime, seen: str = "") -> list[Change]:
    """Replace the whole draft with a release and return what changed.

    A shipped op that this removes comes back with the next upgrade. `seen` is the version of the draft that the user
    reviewed. Raises draft.NothingToDo, draft.Refused, draft.Moved.
    """
    content = releases.content(release)
    return draft.write(content, whole=True, by=by, at=at, note=f"Restored release {release}", seen=seen)


def restore_op(release: Release, op: str, *, by: str, at: datetime, seen: str = "") -> list[Change]:
    """Replace one op of the draft with its version in a release. Adds missing parent groups.

    Raises UnknownOp, draft.NothingToDo, draft.Refused, draft.Moved.
    """
    wanted = op_of(release, op)
    return draft.write(wanted, by=by, at=at, note=f"Restored from release {release}", seen=seen)


def op_of(release: Release, op: str) -> dict[str, Any]:
    """Return a snapshot of one op of a release and of the parent groups that the draft lacks. Raises UnknownOp."""
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
