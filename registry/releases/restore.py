"""Restore a release, or one op of it, into the draft, or discard what the draft changes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from registry import vocabulary
from registry.drafts import draft, history
from registry.models import ROOT, Release, get_parent_path
from registry.releases import stored_releases
from registry.snapshot import diff, snapshot
from registry.snapshot.copy_kinds import COPY_KINDS, Kind
from registry.snapshot.diff import CopyChange, index_entries
from registry.snapshot.entries import EMPTY_SNAPSHOT, GroupEntry, Snapshot, VocabularyEntry

NOTE = "Discarded: reset to the live release"


class OpNotInRelease(Exception):
    """The release does not have this op."""


def restore_release(release: Release, *, by: str, at: datetime, seen: str = "") -> list[CopyChange]:
    """Replace the whole draft with a release and return what changed.

    If the release is from before vocabularies, the draft gets the shipped one. A shipped op that this removes comes
    back with the next upgrade. `seen` is the version of the draft that the user reviewed.

    Raises draft.NothingToChange, draft.DraftRefused, draft.DraftChanged.
    """
    content = load_for_draft(release, snapshot.snapshot_draft())
    return draft.write_snapshot(content, whole=True, by=by, at=at, note=f"Restored release {release}", seen=seen)


def restore_op(release: Release, op: str, *, by: str, at: datetime, seen: str = "") -> list[CopyChange]:
    """Replace one op of the draft with its version in a release. Adds missing parent groups.

    Raises OpNotInRelease, draft.NothingToChange, draft.DraftRefused, draft.DraftChanged.
    """
    op_snapshot = build_op_snapshot(release, op)
    return draft.write_snapshot(op_snapshot, by=by, at=at, note=f"Restored from release {release}", seen=seen)


def build_op_snapshot(release: Release, op: str) -> Snapshot:
    """Return a snapshot of one op of a release and of the parent groups that the draft lacks. Raises OpNotInRelease."""
    content = stored_releases.load_content(release)
    entry = next((each for each in content["ops"] if each["op"] == op), None)
    if entry is None:
        raise OpNotInRelease(f"Release {release} has no op {op}.")
    return {"format": 1, "groups": _find_missing_parents(op, content), "ops": [entry]}


def _find_missing_parents(op: str, content: Snapshot) -> list[GroupEntry]:
    groups = {group["path"]: group for group in content["groups"]}
    missing, path = [], get_parent_path(op)
    while path != ROOT:
        if path in groups and draft.read_entry(Kind.GROUP, path) is None:
            missing.append(groups[path])
        path = get_parent_path(path)
    return missing


class NotDiscardable(Exception):
    """The change cannot be discarded. The message says why."""


@dataclass(frozen=True)
class UnpublishedChanges:
    """How the draft differs from the live release, and which of the changes come from a release taken back."""

    live: Release
    changes: list[CopyChange]
    from_release: list[CopyChange]  # those that match that release
    seen: str  # the version of the draft, and that of the live release
    draft_content: Snapshot
    live_content: Snapshot


def discard_change(kind: Kind, name: str, *, by: str, at: datetime) -> CopyChange:
    """Write an entry of the live release into the draft, or remove one that the live release lacks.

    Raises NotDiscardable, draft.NothingToChange and draft.DraftRefused.
    """
    live = stored_releases.get_live_release()
    draft_content = snapshot.snapshot_draft()
    content = load_for_draft(live, draft_content) if live else EMPTY_SNAPSHOT
    entry = index_entries(content, kind).get(name)
    row = draft.get_row(kind, name)
    is_imported = bool(getattr(row, "source", ""))  # comes back only if somebody imports it again
    if entry is None and row is not None and row.shipped is not None and not is_imported:
        raise NotDiscardable(COPY_KINDS[kind].explain_kept(name))
    return draft.write_entry(kind, name, entry, by=by, at=at, note=NOTE)


def find_unpublished_changes(taken_back: Release | None = None) -> UnpublishedChanges | None:
    """Return how the draft differs from the live release; None if nothing is live.

    `taken_back` is a release that was live before: publishing the draft would bring some of its changes back.
    """
    live = stored_releases.get_live_release()
    if live is None:
        return None
    draft_content = snapshot.snapshot_draft()
    live_content = load_for_draft(live, draft_content)
    changes = diff.diff_snapshots(live_content, draft_content)
    from_release: list[CopyChange] = []
    if changes and taken_back is not None and taken_back != live:
        from_release = _select_matching(changes, taken_back, draft_content)
    seen = f"{snapshot.compute_version(draft_content)}.{live.version}"
    return UnpublishedChanges(live, changes, from_release, seen, draft_content, live_content)


def find_undone_changes(changes: Sequence[CopyChange], content: Snapshot) -> tuple[Release, list[CopyChange]] | None:
    """Return the changes that would undo what made the live release, and the release before it, which they match.

    `changes` turn the live release into `content`. None if there are none.
    """
    try:
        previous = stored_releases.get_previous_release()
    except stored_releases.UnknownRelease:
        return None
    undone = _select_matching(changes, previous, content)
    return (previous, undone) if undone else None


def discard_all_changes(
    *, only: Collection[CopyChange] | None = None, seen: str, by: str, at: datetime
) -> list[CopyChange]:
    """Set the draft to the live release, or only the entries of some changes, and return what changed.

    `seen` is the stamp of the changes that the user saw. Raises draft.DraftChanged, draft.NothingToChange and
    draft.DraftRefused.
    """
    unpublished = find_unpublished_changes()
    if unpublished is None:
        raise draft.NothingToChange("Nothing is live yet.")
    if seen != unpublished.seen:
        raise draft.DraftChanged("The draft or the live release has changed since you saw this page. Choose again.")
    chosen = unpublished.changes if only is None else only
    content = set_entries(unpublished.draft_content, unpublished.live_content, chosen)
    version = seen.partition(".")[0]
    return draft.write_snapshot(content, whole=True, by=by, at=at, note=NOTE, seen=version)


def select_own(changes: Sequence[CopyChange], *, name: str) -> list[CopyChange]:
    """Return the changes of entries that nobody but this person has changed since they were live."""
    editors = history.list_editors(since=stored_releases.load_freeze_times()[1])
    return [each for each in changes if editors.get((each.kind, each.name)) == [name]]


def _select_matching(changes: Sequence[CopyChange], release: Release, content: Snapshot) -> list[CopyChange]:
    """Return the changes after which the content is as in a release."""
    differing = {(each.kind, each.name) for each in _diff_with_release(release, content)}
    return [each for each in changes if (each.kind, each.name) not in differing]


def _diff_with_release(release: Release, draft_content: Snapshot) -> list[CopyChange]:
    return diff.diff_snapshots(load_for_draft(release, draft_content), draft_content)


def load_for_draft(release: Release, draft_content: Snapshot) -> Snapshot:
    """Return a release's content as it is written into the draft: with a vocabulary, if the draft has one.

    A release without a list of entries stands for the shipped ones, and so does a draft.
    """
    content = stored_releases.load_content(release)
    if "vocabulary" in content or "vocabulary" not in draft_content:
        return content
    shipped = sorted(vocabulary.list_shipped_entries(), key=COPY_KINDS[Kind.VOCABULARY].get_name)
    return {**content, "vocabulary": cast("list[VocabularyEntry]", shipped)}


def set_entries(content: Snapshot, source: Snapshot, chosen: Collection[CopyChange]) -> Snapshot:
    """Return the content with the chosen entries as they are in the source, or without those that it lacks."""
    lists = {}
    for kind, copy_kind in COPY_KINDS.items():
        names = {change.name for change in chosen if change.kind == kind}
        kept = {name: entry for name, entry in index_entries(content, kind).items() if name not in names}
        new = {name: entry for name, entry in index_entries(source, kind).items() if name in names}
        lists[kind] = snapshot.sort_entries(copy_kind, (kept | new).values())
    return snapshot.build_snapshot(lists)
