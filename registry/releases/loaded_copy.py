"""Publish copy that a command has loaded into the draft, unless the draft had other edits."""

from datetime import datetime

from registry.releases import lifecycle, publishing, stored_releases


def has_unpublished_edits() -> bool:
    """Return whether the draft differs from the live release. Not so before the first release."""
    live = stored_releases.get_live_release()
    return live is not None and publishing.compute_draft_version() != live.version


def publish_loaded_copy(*, had_edits: bool, note: str, by: str, at: datetime) -> str:
    """Publish the draft unless it had edits before loading, and return what was done. Raises NotPublishable."""
    if had_edits:
        return "Not published: the draft has unpublished edits. Review them first."
    try:
        release = publishing.publish_draft(note=note, by=by, at=at, accepted=note, accepted_loss=note)
    except lifecycle.AlreadyLive:
        return "The live release is up to date."
    return f"Release {release.version[:12]} with {release.op_count} ops is live."
