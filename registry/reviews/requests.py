"""Ask for a review of the draft, comment on it, approve it or request changes. The audit log has all of it."""

from datetime import datetime

from django.db import IntegrityError, transaction

from analytics import audit
from analytics.models import AuditEntry
from registry.models import Release, ReviewComment, ReviewRequest
from registry.models.review_request import Person
from registry.reviews import notices

Action, State = ReviewComment.Action, ReviewRequest.State

_AUDIT_ACTIONS = {
    Action.ASKED: AuditEntry.Action.ASKED,
    Action.COMMENTED: AuditEntry.Action.COMMENTED,
    Action.APPROVED: AuditEntry.Action.APPROVED,
    Action.SENT_BACK: AuditEntry.Action.SENT_BACK,
    Action.WITHDRAWN: AuditEntry.Action.WITHDRAWN,
}


class ReviewRefused(Exception):
    """The step is not possible. The message says why, and what to do."""


def get_open_request() -> ReviewRequest | None:
    """Return the review that is not finished, or None."""
    return ReviewRequest.objects.filter(is_open=True).first()


def ask_for_review(*, version: str, summary: str, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Ask for a review of the draft with this version. An open review is asked for again, about this draft.

    Raises ReviewRefused if somebody else asked at the same time, or if this draft was approved already.
    """
    try:
        with transaction.atomic():
            request = ReviewRequest.objects.select_for_update().filter(is_open=True).first()
            if request is None:
                request = ReviewRequest(asked_by=by, asked_at=at)
            elif request.is_about(version) and request.state == State.APPROVED:
                raise ReviewRefused(f"{request.decided_by} approved this draft already. Publish it, or comment.")
            request.version, request.summary, request.state = version, summary[:200], State.WAITING
            request.asked_by, request.asked_by_id, request.asked_at = by, audit.find_user_id(by), at
            request.decided_by, request.decided_by_id, request.decided_at = "", None, None
            request.save()
            _record(request, Action.ASKED, comment, version=version, by=by, at=at)
    except IntegrityError:
        raise ReviewRefused("Somebody else asked for a review just now. Open the page again to see it.") from None
    return request


def add_comment(*, version: str, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Add a comment to the open review. Raises ReviewRefused if there is none."""
    with transaction.atomic():
        request = _lock_open_request()
        _record(request, Action.COMMENTED, comment, version=version, by=by, at=at)
    return request


def approve_draft(*, version: str, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Approve the draft with this version. Raises ReviewRefused, also for the person who asked."""
    return _decide(Action.APPROVED, State.APPROVED, version=version, comment=comment, by=by, at=at)


def request_changes(*, version: str, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Send the draft back, with what to change. Raises ReviewRefused, also for the person who asked."""
    return _decide(Action.SENT_BACK, State.SENT_BACK, version=version, comment=comment, by=by, at=at)


def withdraw_request(*, version: str, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Close the open review without a result. Raises ReviewRefused if there is none."""
    with transaction.atomic():
        request = _lock_open_request()
        request.is_open, request.state = False, State.WITHDRAWN
        request.save()
        _record(request, Action.WITHDRAWN, comment, version=version, by=by, at=at)
    return request


def close_as_published(release: Release, *, by: str, at: datetime) -> None:
    """Close the open review, if there is one, because its draft is live now."""
    with transaction.atomic():
        request = ReviewRequest.objects.select_for_update().filter(is_open=True).first()
        if request is None:
            return
        request.is_open, request.state = False, State.PUBLISHED
        request.save()
        comment = f"As {release.short_name}."
        ReviewComment.objects.create(
            request=request, action=Action.PUBLISHED, text=comment, version=release.version, by=by, at=at
        )  # the audit log has the release


def _decide(
    action: ReviewComment.Action, state: ReviewRequest.State, *, version: str, comment: str, by: str, at: datetime
) -> ReviewRequest:
    with transaction.atomic():
        request = _lock_open_request()
        person = Person.find(by)
        if request.asker.is_same(person):
            raise ReviewRefused("You asked for this review, so somebody else has to decide. You can comment.")
        request.version, request.state, request.decided_at = version, state, at
        request.decided_by, request.decided_by_id = by, person.user_id
        request.save()
        _record(request, action, comment, version=version, by=by, at=at)
    return request


def _lock_open_request() -> ReviewRequest:
    request = ReviewRequest.objects.select_for_update().filter(is_open=True).first()
    if request is None:
        raise ReviewRefused("This review is closed: it was published or withdrawn. Ask for a new one.")
    return request


def _record(
    request: ReviewRequest, action: ReviewComment.Action, comment: str, *, version: str, by: str, at: datetime
) -> None:
    ReviewComment.objects.create(request=request, action=action, text=comment, version=version, by=by, at=at)
    audit.record_action(
        AuditEntry.Kind.REVIEW, version, _AUDIT_ACTIONS[action], by=by, at=at, note=" ".join(comment.split())
    )
    notices.notify_about(request, action, comment=comment, by=by, at=at)
