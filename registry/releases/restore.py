"""Restore a release, or one op of it, into the draft. The live release does not change."""

from datetime import datetime
from typing import Any

from registry.drafts import draft
from registry.models import ROOT, Release, get_parent_path
from registry.releases import stored_releases
from registry.snapshot import diff
from registry.snapshot.diff import CopyChange, Kind


class OpNotInRelease(Exception):
    """The release does not have this op."""


def restore_release(release: Release, *, by: str, at: datetime, seen: str = "") -> list[CopyChange]:
    """Replace the whole draft with a release and return what changed.

    A shipped op that this removes comes back with the next upgrade. `seen` is the version of the draft that the user
    reviewed. Raises draft.NothingToChange, draft.DraftRefused, draft.DraftChanged.
    """
    content = stored_releases.load_content(release)
    return draft.write_snapshot(content, whole=True, by=by, at=at, note=f"Restored release {release}", seen=seen)


def restore_op(release: Release, op: str, *, by: str, at: datetime, seen: str = "") -> list[CopyChange]:
    """Replace one op of the draft with its version in a release. Adds missing parent groups.

    Raises OpNotInRelease, draft.NothingToChange, draft.DraftRefused, draft.DraftChanged.
    """
    op_snapshot = build_op_snapshot(release, op)
    return draft.write_snapshot(op_snapshot, by=by, at=at, note=f"Restored from release {release}", seen=seen)


def build_op_snapshot(release: Release, op: str) -> dict[str, Any]:
    """Return a snapshot of one op of a release and of the parent groups that the draft lacks. Raises OpNotInRelease."""
    content = stored_releases.load_content(release)
    entry = diff.index_entries(content, Kind.OP).get(op)
    if entry is None:
        raise OpNotInRelease(f"Release {release} has no op {op}.")
    return {"format": 1, "groups": _find_missing_parents(op, content), "ops": [entry]}


def _find_missing_parents(op: str, content: dict[str, Any]) -> list[dict[str, Any]]:
    groups = diff.index_entries(content, Kind.GROUP)
    missing, path = [], get_parent_path(op)
    while path != ROOT:
        if path in groups and draft.read_entry(Kind.GROUP, path) is None:
            missing.append(groups[path])
        path = get_parent_path(path)
    return missing
