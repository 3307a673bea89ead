"""Ask for a review of changes of the draft, comment on it, approve them or request changes, and notify people."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils.text import Truncator, get_text_list

from audit import audit_log
from audit.models import AuditEntry
from notifications import outbox
from notifications.outbox import OutgoingMessage
from notifications.recipients import find_emails
from registry.models import Release, ReviewComment, ReviewRequest, ScheduledPublish
from registry.models.review import Person
from registry.releases import stored_releases
from registry.releases.selection import DraftSelection
from registry.reviews import holds
from registry.snapshot import snapshot

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
    path = f"{reverse('admin:registry_release_review')}?review={request.pk}#discussion"
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
    return find_emails("registry.add_release", but=but)


def describe_reach(*, by: str) -> str:
    """Return who gets a message if this person asks for a review."""
    reached = []
    if settings.GATEWAY_SENDS_EMAIL and (count := len(find_reviewer_addresses(but=by))):
        reached.append("1 person who can approve gets an e-mail" if count == 1 else f"{count} people get an e-mail")
    if settings.GATEWAY_NOTIFY_URL:
        reached.append("the webhook is called")
    if settings.GATEWAY_NOTIFY_CHAT_URL:
        reached.append("the chat tool gets a message")
    if reached:
        text = get_text_list(reached, "and")
        return f"{text[0].upper()}{text[1:]}."
    return "Nobody gets a message: no reviewer can be reached by e-mail, webhook or chat. Tell someone who can publish."


class ReviewRefused(Exception):
    """The step is not possible. The message says why, and what to do."""


def find_review(chosen: DraftSelection, reviews: Iterable[ReviewRequest]) -> ReviewRequest | None:
    """Return the review to which a step on the selected changes belongs, or None.

    It is the only one that has some of them, and all of its changes are selected. One of the version before has no
    entries, and was about the whole draft.
    """
    overlapping = [review for review in reviews if review.keys & chosen.keys or not review.entries]
    if len(overlapping) != 1 or (overlapping[0].keys & chosen.all_keys) - chosen.keys:
        return None
    return overlapping[0]


def is_about(review: ReviewRequest, chosen: DraftSelection) -> bool:
    """Return whether a review is about exactly the selected changes with their contents."""
    return {tuple(entry) for entry in review.entries} == set(chosen.hash_entries())


def ask_for_review(chosen: DraftSelection, *, summary: str, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Ask for a review of the selected changes. The review that has some of them is asked for again, about all of them.

    Raises ReviewRefused if other reviews have some of them, or if exactly these were approved already.
    """
    with transaction.atomic():
        stored_releases.lock_live_version()  # so that nobody asks for a review of the same entries at the same time
        reviews = holds.list_open_reviews()
        request = find_review(chosen, reviews) or ReviewRequest(asked_by=by, asked_at=at)
        others = [review.asked_by for review in reviews if review != request and review.keys & chosen.keys]
        if others:
            names = get_text_list(sorted(set(others)), "and")
            raise ReviewRefused(f"Some of these changes are in a review that {names} asked for. Leave them out.")
        if request.state == State.APPROVED and is_about(request, chosen):
            raise ReviewRefused(f"{request.decided_by} already approved these changes. Publish them, or comment.")
        _bind(request, chosen, summary, State.WAITING)
        request.asked_by, request.asked_by_id, request.asked_at = by, audit_log.find_user_id(by), at
        request.decided_by, request.decided_by_id, request.decided_at = "", None, None
        request.save()
        _record(request, Action.ASKED, comment, by=by, at=at)
    return request


def add_comment(review: ReviewRequest, *, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Add a comment to an open review. Raises ReviewRefused if it is closed."""
    with transaction.atomic():
        request = _lock_open_request(review)
        _record(request, Action.COMMENTED, comment, by=by, at=at)
    return request


def approve_changes(
    review: ReviewRequest, chosen: DraftSelection, *, summary: str, comment: str, by: str, at: datetime
) -> ReviewRequest:
    """Approve the selected changes. Raises ReviewRefused, also for the person who asked."""
    return _decide(Action.APPROVED, State.APPROVED, review, chosen, summary, comment=comment, by=by, at=at)


def request_changes(
    review: ReviewRequest, chosen: DraftSelection, *, summary: str, comment: str, by: str, at: datetime
) -> ReviewRequest:
    """Send the selected changes back, with what to change. Raises ReviewRefused, also for the person who asked."""
    return _decide(Action.SENT_BACK, State.SENT_BACK, review, chosen, summary, comment=comment, by=by, at=at)


def withdraw_request(review: ReviewRequest, *, comment: str, by: str, at: datetime) -> ReviewRequest:
    """Close an open review without a result. Raises ReviewRefused if it is closed."""
    with transaction.atomic():
        request = _lock_open_request(review)
        request.is_open, request.state = False, State.WITHDRAWN
        request.save()
        _record(request, Action.WITHDRAWN, comment, by=by, at=at)
    return request


def close_as_published(
    reviews: Iterable[ReviewRequest], outdated: Collection[ReviewRequest], release: Release, *, by: str, at: datetime
) -> None:
    """Close the open ones of some reviews, because their changes are live now.

    An approval of `outdated` ones was for other contents: nobody decided about what was published.
    """
    with transaction.atomic():
        for request in ReviewRequest.objects.select_for_update().filter(pk__in=[each.pk for each in reviews]):
            if not request.is_open:
                continue
            comment = f"As {release.short_name}."
            if request in outdated and request.state == State.APPROVED:
                comment += f" The approval by {request.decided_by} was outdated: the changes had been edited since."
                request.decided_by, request.decided_by_id, request.decided_at = "", None, None
            request.is_open, request.state = False, State.PUBLISHED
            request.save()
            ReviewComment.objects.create(
                request=request, action=Action.PUBLISHED, text=comment, version=release.version, by=by, at=at
            )  # the audit log has the release


def _decide(
    action: ReviewComment.Action,
    state: ReviewRequest.State,
    review: ReviewRequest,
    chosen: DraftSelection,
    summary: str,
    *,
    comment: str,
    by: str,
    at: datetime,
) -> ReviewRequest:
    with transaction.atomic():
        stored_releases.lock_live_version()
        request = _lock_open_request(review)
        if find_review(chosen, holds.list_open_reviews()) != request:
            raise ReviewRefused("Select the changes of this review, and none of another one.")
        person = Person.find(by)
        if request.asker.is_same(person):
            raise ReviewRefused("You asked for this review, so somebody else must decide. You can comment.")
        _bind(request, chosen, summary, state)
        request.decided_by, request.decided_by_id, request.decided_at = by, person.user_id, at
        request.save()
        _record(request, action, comment, by=by, at=at)
    return request


def _bind(request: ReviewRequest, chosen: DraftSelection, summary: str, state: ReviewRequest.State) -> None:
    """Set the changes that a review is about, with their contents."""
    request.version, request.entries = snapshot.compute_version(chosen.after), chosen.hash_entries()
    request.summary, request.state = summary[:200], state


def _lock_open_request(review: ReviewRequest) -> ReviewRequest:
    request = ReviewRequest.objects.select_for_update().filter(pk=review.pk, is_open=True).first()
    if request is None:
        raise ReviewRefused("This review is closed: it was published or withdrawn. Ask for a new one.")
    return request


def _record(request: ReviewRequest, action: ReviewComment.Action, comment: str, *, by: str, at: datetime) -> None:
    version = request.version
    ReviewComment.objects.create(request=request, action=action, text=comment, version=version, by=by, at=at)
    audit_log.record_action(
        "review",
        version,
        _AUDIT_ACTIONS[action],
        by=by,
        at=at,
        note=" ".join(comment.split()),
        changes={"entries": [None, [name for _, name, _, _ in request.entries]]},
    )
    notify_about(request, action, comment=comment, by=by, at=at)


class OpenReview(NamedTuple):
    """An open review in a sentence, and whether it waits for this user."""

    pk: int
    sentence: str
    waits_for_me: bool


def describe_open_reviews(*, user: str, may_decide: bool) -> list[OpenReview]:
    """Return the open reviews for a user. A review waits for the approvers, or for the requester."""
    return [_describe_review(review, user, may_decide=may_decide) for review in holds.list_open_reviews()]


def _describe_review(request: ReviewRequest, user: str, *, may_decide: bool) -> OpenReview:
    is_asker = request.asked_by == user
    if request.state == State.WAITING:
        sentence = f"{'You' if is_asker else request.asked_by} requested a review of {request.summary}."
        return OpenReview(request.pk, sentence, may_decide and not is_asker)
    decider = "You" if request.decided_by == user else request.decided_by
    if request.state == State.SENT_BACK:
        return OpenReview(request.pk, f"{decider} requested changes to {request.summary}.", is_asker)
    return OpenReview(request.pk, f"{decider} approved {request.summary}.", may_decide)
