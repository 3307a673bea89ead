"""Discard what the draft changes in one entry: it is as in the live release again. The audit log keeps what it was."""

from datetime import datetime

from registry.drafts import draft
from registry.releases import stored_releases
from registry.snapshot.copy_kinds import Kind
from registry.snapshot.diff import CopyChange, index_entries


class NotDiscardable(Exception):
    """The change cannot be discarded. The message says why."""


def discard_change(kind: Kind, name: str, *, by: str, at: datetime) -> CopyChange:
    """Write an entry of the live release into the draft, or remove one that the live release lacks.

    Raises NotDiscardable, draft.NothingToChange and draft.DraftRefused.
    """
    live = stored_releases.get_live_release()
    entry = index_entries(stored_releases.load_content(live), kind).get(name) if live else None
    row = draft.get_row(kind, name)
    if entry is None and row is not None and row.shipped is not None:
        raise NotDiscardable(f"{name} is shipped and would come back with the next upgrade. Retire it instead.")
    return draft.write_entry(kind, name, entry, by=by, at=at, note="Discarded: as in the live release again")
