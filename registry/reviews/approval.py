"""Who can publish the draft if GATEWAY_REVIEW_REQUIRED asks for a second person, and publishing."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.conf import settings

from registry.drafts import history
from registry.models import Release, ReviewRequest
from registry.models.review import Person
from registry.releases import publishing, stored_releases
from registry.reviews import requests
from registry.snapshot import diff, snapshot
from registry.snapshot.diff import CopyChange
from registry.snapshot.entries import EMPTY_SNAPSHOT

MAX_NAMED = 3  # entries that a refusal names


class ReviewDecision(NamedTuple):
    """Whether somebody can publish the draft, and why not."""

    allowed: bool
    reason: str = ""


class ApprovalMissing(Exception):
    """Publishing needs a second person. The message says what to do."""


def decide(*, by: str, version: str, changes: Iterable[CopyChange], live: Release | None) -> ReviewDecision:
    """Return whether `by` can publish the draft with this version and these changes to the live release.

    People who changed one of these entries since the live release, or asked for the review, need the approval of
    somebody else for exactly this draft.
    """
    if not settings.GATEWAY_REVIEW_REQUIRED:
        return ReviewDecision(True)
    request, person = requests.get_open_request(), Person.find(by)
    if request is not None and _is_approval(request, version, person):
        return ReviewDecision(True)
    edited = _list_edited(changes, live, person)
    if not edited and (request is None or not request.asker.is_same(person)):
        return ReviewDecision(True)
    if request is not None and request.state == ReviewRequest.State.APPROVED and not request.decider.is_same(person):
        return ReviewDecision(
            False,
            f"{request.decided_by} approved an earlier draft. It has changed since, so ask for a review again.",
        )
    what = f"You changed {_join_names(edited)}" if edited else "You asked for the review of this draft"
    step = _suggest_step(request, version, person)
    return ReviewDecision(False, f"{what}, so a second person who can publish must approve or publish it. {step}")


def _suggest_step(request: ReviewRequest | None, version: str, person: Person) -> str:
    if request is None:
        return "Ask for a review."
    if not request.is_about(version):
        return "The draft has changed since the review was asked for: ask again."
    return (
        "Your own approval does not count." if request.decider.is_same(person) else "Wait for the result of the review."
    )


def _join_names(names: list[str]) -> str:
    left = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {left} more" if left > 0 else "")


def _is_approval(request: ReviewRequest, version: str, person: Person) -> bool:
    is_approved = request.state == ReviewRequest.State.APPROVED and request.is_about(version)
    return is_approved and not request.decider.is_same(person)


def _list_edited(changes: Iterable[CopyChange], live: Release | None, person: Person) -> list[str]:
    """Return the names of the changed entries that a person has changed, even if others changed them afterwards."""
    since = live.created_at if live else None
    edited = history.list_edited_by(name=person.name, user_id=person.user_id, since=since)
    return [change.name for change in changes if (change.kind, change.name) in edited]


def publish_reviewed(
    *, note: str, by: str, at: datetime, accepted: str = "", seen: str = "", accepted_loss: str = ""
) -> Release:
    """Publish the draft, see `publishing.publish_draft`. Also raises ApprovalMissing."""
    seen = check_approval(by, seen)
    release = publishing.publish_draft(
        note=note, by=by, at=at, accepted=accepted, seen=seen, accepted_loss=accepted_loss
    )
    requests.close_as_published(release, by=by, at=at)
    return release


def check_approval(by: str, seen: str) -> str:
    """Return the version of the draft that may be published: `seen` or, if a review is required, today's one.

    Raises ApprovalMissing if a second person must approve it first.
    """
    if not settings.GATEWAY_REVIEW_REQUIRED:
        return seen
    version = seen or publishing.compute_draft_version()
    live = stored_releases.get_live_release()
    before = stored_releases.load_content(live) if live else EMPTY_SNAPSHOT
    changes = diff.diff_snapshots(before, snapshot.snapshot_draft())
    decision = decide(by=by, version=version, changes=changes, live=live)
    if not decision.allowed:
        raise ApprovalMissing(decision.reason)
    return version
