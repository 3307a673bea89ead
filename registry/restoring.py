"""A release back into the draft, whole or one op of it. What is live stays live until somebody publishes."""

from datetime import datetime
from typing import Any

from registry import changes, draft, releases
from registry.changes import Change, Kind
from registry.models import ROOT, Release, parent_of


class UnknownOp(Exception):
    """The release has no such op."""


def restore(release: Release, *, by: str, at: datetime) -> list[Change]:
    """Make the draft what a release is: what came since goes, what went since comes back. Return what changed.

    A shipped op that goes comes back with the next upgrade. Raises draft.NothingToDo, draft.Refused.
    """
    return draft.write(releases.content(release), whole=True, by=by, at=at, note=f"Restored release {release}")


def restore_op(release: Release, op: str, *, by: str, at: datetime) -> list[Change]:
    """Make one op of the draft what it is in a release, with the groups above it where they are gone.

    Raises UnknownOp, draft.NothingToDo, draft.Refused.
    """
    content = releases.content(release)
    entry = changes.entries(content, Kind.OP).get(op)
    if entry is None:
        raise UnknownOp(f"Release {release} has no op {op}.")
    wanted = {"format": 1, "groups": _missing_above(op, content), "ops": [entry]}
    return draft.write(wanted, by=by, at=at, note=f"Restored from release {release}")


def _missing_above(op: str, content: dict[str, Any]) -> list[dict[str, Any]]:
    groups = changes.entries(content, Kind.GROUP)
    above, path = [], parent_of(op)
    while path != ROOT:
        if path in groups and draft.read(Kind.GROUP, path) is None:
            above.append(groups[path])
        path = parent_of(path)
    return above
