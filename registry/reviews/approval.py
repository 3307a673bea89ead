"""Who may publish the draft, if GATEWAY_REVIEW_REQUIRED asks for a second person."""

from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings

from registry.drafts import history
from registry.models import Release, ReviewRequest
from registry.reviews import requests
from registry.snapshot.diff import CopyChange


class Decision(NamedTuple):
    """Whether somebody may publish the draft, and why not."""

    allowed: bool
    reason: str = ""


class ApprovalMissing(Exception):
    """Publishing needs a second person. The message says what to do."""


def decide(*, by: str, version: str, changes: Iterable[CopyChange], live: Release | None) -> Decision:
    """Return whether `by` may publish the draft with this version and these changes to the live release.

    Whoever edited or asked last needs the approval of somebody else for exactly this draft.
    """
    if not settings.GATEWAY_REVIEW_REQUIRED:
        return Decision(True)
    request = requests.get_open_request()
    if request is not None and _is_approval(request, version, by):
        return Decision(True)
    last_editors = _find_last_editors(changes, live)
    if by not in last_editors and (request is None or request.asked_by != by):
        return Decision(True)
    if request is not None and request.state == ReviewRequest.State.APPROVED and request.decided_by != by:
        return Decision(
            False,
            f"{request.decided_by} approved an earlier draft. It has changed since, so ask for a review again.",
        )
    what = "You changed this draft" if by in last_editors else "You asked for the review of this draft"
    return Decision(
        False, f"{what}, so a second person has to approve or publish it. Ask for a review, or wait for its result."
    )


def _is_approval(request: ReviewRequest, version: str, by: str) -> bool:
    is_approved = request.state == ReviewRequest.State.APPROVED and request.is_about(version)
    return is_approved and request.decided_by != by


def _find_last_editors(changes: Iterable[CopyChange], live: Release | None) -> set[str]:
    """Return who changed each of the changed entries last."""
    editors = history.list_editors(since=live.created_at if live else None)
    names = ((change.kind, change.name) for change in changes)
    return {editors[name][0] for name in names if editors.get(name)}
