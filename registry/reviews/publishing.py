"""Publish the draft as a person: with the approval that the settings ask for, and closing its review."""

from datetime import datetime

from django.conf import settings

from registry.models import Release
from registry.releases import publishing, stored_releases
from registry.reviews import approval, requests
from registry.reviews.approval import ApprovalMissing
from registry.snapshot import diff, snapshot

EMPTY_SNAPSHOT = {"format": 1, "groups": [], "ops": []}


def publish_reviewed(
    *, note: str, by: str, at: datetime, accepted: str = "", seen: str = "", accepted_loss: str = ""
) -> Release:
    """Publish the draft, see `publishing.publish_draft`. Raises ApprovalMissing, too."""
    if settings.GATEWAY_REVIEW_REQUIRED:
        seen = seen or publishing.compute_draft_version()
        _check_approval(by, seen)
    release = publishing.publish_draft(
        note=note, by=by, at=at, accepted=accepted, seen=seen, accepted_loss=accepted_loss
    )
    requests.close_as_published(release, by=by, at=at)
    return release


def _check_approval(by: str, version: str) -> None:
    live = stored_releases.get_live_release()
    before = stored_releases.load_content(live) if live else EMPTY_SNAPSHOT
    changes = diff.diff_snapshots(before, snapshot.snapshot_draft())
    decision = approval.decide(by=by, version=version, changes=changes, live=live)
    if not decision.allowed:
        raise ApprovalMissing(decision.reason)
