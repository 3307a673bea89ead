"""Who may publish the draft, if GATEWAY_REVIEW_REQUIRED asks for a second person."""

from collections.abc import Iterable
from typing import NamedTuple

from django.conf import settings

from registry.drafts import history
from registry.models import Release, ReviewRequest
from registry.reviews import requests
from registry.snapshot.diff import CopyChange

MAX_NAMED = 3  # entries that a refusal names


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
    edited = _list_last_edited(changes, live, by)
    if not edited and (request is None or request.asked_by != by):
        return Decision(True)
    if request is not None and request.state == ReviewRequest.State.APPROVED and request.decided_by != by:
        return Decision(
            False,
            f"{request.decided_by} approved an earlier draft. It has changed since, so ask for a review again.",
        )
    what = f"You were the last to change {_join_names(edited)}" if edited else "You asked for the review of this draft"
    step = _suggest_step(request, version, by)
    return Decision(False, f"{what}, so a second person who may publish has to approve or publish it. {step}")


def _suggest_step(request: ReviewRequest | None, version: str, by: str) -> str:
    if request is None:
        return "Ask for a review."
    if not request.is_about(version):
        return "The draft has changed since the review was asked for: ask again."
    return "Your own approval does not count." if request.decided_by == by else "Wait for the result of the review."


def _join_names(names: list[str]) -> str:
    left = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {left} more" if left > 0 else "")


def _is_approval(request: ReviewRequest, version: str, by: str) -> bool:
    is_approved = request.state == ReviewRequest.State.APPROVED and request.is_about(version)
    return is_approved and request.decided_by != by


def _list_last_edited(changes: Iterable[CopyChange], live: Release | None, by: str) -> list[str]:
    """Return the names of the changed entries that `by` was the last to change."""
    editors = history.list_editors(since=live.created_at if live else None)
    return [change.name for change in changes if (editors.get((change.kind, change.name)) or [""])[0] == by]
