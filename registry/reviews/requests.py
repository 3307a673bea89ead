"""Ask for a review of the draft, comment on it, approve it or request changes, and notify people."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils.text import Truncator

from audit import audit_log
from audit.models import AuditEntry
from notifications import outbox
from notifications.outbox import OutgoingMessage
from registry.models import Release, ReviewComment, ReviewRequest, ScheduledPublish
from registry.models.review import Person

MAX_QUOTED = 2_000  # characters of a comment
Action = ReviewComment.Action

# What was done, as the subject of a message. Nobody is notified of the others.
SUBJECTS = {
    Action.ASKED: "{by} asks for a review of {summary}",
    Action.COMMENTED: "{by} commented on the review of {summary}",
    Action.APPROVED: "{by} approved {summary}",
    Action.SENT_BACK: "{by} requested changes to {summary}",
}
State = ReviewRequest.State
_AUDIT_ACTIONS = {
    Action.ASKED: AuditEntry.Action.ASKED,
    Action.COMMENTED: AuditEntry.Action.COMMENTED,
    Action.APPROVED: AuditEntry.Action.APPROVED,
    Action.SENT_BACK: AuditEntry.Action.SENT_BACK,
    Action.WITHDRAWN: AuditEntry.Action.WITHDRAWN,
}


def notify_about(request: ReviewRequest, action: ReviewComment.Action, *, comment: str, by: str, at: datetime) -> None:
    """Notify the approvers or the requester of a review step."""
    if action not in SUBJECTS:
        return
    subject = SUBJECTS[action].format(by=by, summary=request.summary)
    quoted = f"\n\n{Truncator(comment).chars(MAX_QUOTED)}" if comment else ""
    path = f"{reverse('admin:registry_release_review')}#discussion"
    message = OutgoingMessage(f"review.{action.value}", subject, f"{subject}.{quoted}", path, by)
    is_for_asker = action in (Action.APPROVED, Action.SENT_BACK) or by != request.asked_by
    recipients = find_addresses([request.asked_by]) if is_for_asker else find_reviewer_addresses(but=by)
    outbox.notify(message, recipients=recipients, at=at)


def notify_about_schedule(row: ScheduledPublish, reason: str, *, at: datetime) -> None:
    """Notify the person who scheduled a publish of its result."""
    event = "schedule.failed" if reason else "schedule.published"
    subject = f"{row.summary} {'was not published' if reason else 'went live'} as scheduled"
    text = f"{subject}: {row.note}" + (f"\n\n{reason}" if reason else "")
    path = reverse("admin:registry_release_review" if reason else "admin:registry_release_changelist")
    message = OutgoingMessage(event, subject, text, path, row.created_by)
    outbox.notify(message, recipients=find_addresses([row.created_by]), at=at)


def find_addresses(names: Iterable[str]) -> list[str]:
    """Return the e-mail addresses of users by their names."""
    users = User.objects.filter(username__in=list(names), is_active=True).exclude(email="")
    return list(users.order_by("pk").values_list("email", flat=True))


def find_reviewer_addresses(*, but: str) -> list[str]:
    """Return the e-mail addresses of the people who can approve, except one person."""
    users = User.objects.with_perm("registry.add_release", backend="django.contrib.auth.backends.ModelBackend")
    reviewers = users.filter(is_staff=True).exclude(username=but).exclude(email="")
    return list(reviewers.order_by("pk").values_list("email", flat=True).distinct())


def describe_reach(*, by: str) -> str:
    """Return who gets a message if this person asks for a review."""
    reached = []
    if settings.GATEWAY_SENDS_EMAIL and (count := len(find_reviewer_addresses(but=by))):
        reached.append("1 person who can approve gets an e-mail" if count == 1 else f"{count} people get an e-mail")
    if settings.GATEWAY_NOTIFY_URL:
        reached.append("the webhook is called")
    if reached:
        text = " and ".join(reached)
        return f"{text[0].upper()}{text[1:]}."
    return "Nobody gets a message: no reviewer can be reached by e-mail or webhook. Tell someone who can publish."


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
                raise ReviewRefused(f"{request.decided_by} already approved this draft. Publish it, or comment.")
            request.version, request.summary, request.state = version, summary[:200], State.WAITING
            request.asked_by, request.asked_by_id, request.asked_at = by, audit_log.find_user_id(by), at
            request.decided_by, request.decided_by_id, request.decided_at = "", None, None
            request.save()
            _record(request, Action.ASKED, comment, version=version, by=by, at=at)
    except IntegrityError:
        raise ReviewRefused("Someone else asked for a review just now. Reload the page to see it.") from None
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
            raise ReviewRefused("You asked for this review, so somebody else must decide. You can comment.")
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
    audit_log.record_action("review", version, _AUDIT_ACTIONS[action], by=by, at=at, note=" ".join(comment.split()))
    notify_about(request, action, comment=comment, by=by, at=at)


class OpenReview(NamedTuple):
    """The open review in a sentence, and whether it waits for this user."""

    sentence: str
    waits_for_me: bool


def describe_open_review(*, user: str, may_decide: bool) -> OpenReview | None:
    """Return the open review for a user, or None. It waits for the approvers, or for the requester."""
    request = get_open_request()
    if request is None:
        return None
    is_asker = request.asked_by == user
    if request.state == State.WAITING:
        sentence = f"{'You' if is_asker else request.asked_by} asked for a review of {request.summary}."
        return OpenReview(sentence, may_decide and not is_asker)
    decider = "You" if request.decided_by == user else request.decided_by
    if request.state == State.SENT_BACK:
        return OpenReview(f"{decider} requested changes to {request.summary}.", is_asker)
    return OpenReview(f"{decider} approved {request.summary}.", may_decide)
