"""Tell people about reviews: who may approve that somebody asks, and who asked what was decided."""

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.text import Truncator

from analytics.notifications import outbox
from analytics.notifications.outbox import Message
from registry.models import ReviewComment, ReviewRequest, ScheduledPublish

MAX_QUOTED = 2_000  # characters of a comment

Action = ReviewComment.Action

# What was done, as the subject of a message. The others are not told to anybody.
SUBJECTS = {
    Action.ASKED: "{by} asks for a review of {summary}",
    Action.COMMENTED: "{by} commented on the review of {summary}",
    Action.APPROVED: "{by} approved {summary}",
    Action.SENT_BACK: "{by} requested changes of {summary}",
}


def notify_about(request: ReviewRequest, action: ReviewComment.Action, *, comment: str, by: str, at: datetime) -> None:
    """Tell those whom a step of a review concerns: who may approve, or who asked."""
    if action not in SUBJECTS:
        return
    subject = SUBJECTS[action].format(by=by, summary=request.summary)
    quoted = f"\n\n{Truncator(comment).chars(MAX_QUOTED)}" if comment else ""
    path = f"{reverse('admin:registry_release_review')}#discussion"
    message = Message(f"review.{action.value}", subject, f"{subject}.{quoted}", path, by)
    is_for_asker = action in (Action.APPROVED, Action.SENT_BACK) or by != request.asked_by
    recipients = find_addresses([request.asked_by]) if is_for_asker else find_reviewer_addresses(but=by)
    outbox.notify(message, recipients=recipients, at=at)


def notify_about_schedule(row: ScheduledPublish, reason: str, *, at: datetime) -> None:
    """Tell who scheduled a publish that it was done, or why not."""
    event = "schedule.failed" if reason else "schedule.published"
    subject = f"{row.summary} {'was not published' if reason else 'went live'} as scheduled"
    text = f"{subject}: {row.note}" + (f"\n\n{reason}" if reason else "")
    path = reverse("admin:registry_release_review" if reason else "admin:registry_release_changelist")
    message = Message(event, subject, text, path, row.created_by)
    outbox.notify(message, recipients=find_addresses([row.created_by]), at=at)


def find_addresses(names: Iterable[str]) -> list[str]:
    """Return the e-mail addresses of users by their names."""
    users = User.objects.filter(username__in=list(names), is_active=True).exclude(email="")
    return list(users.order_by("pk").values_list("email", flat=True))


def find_reviewer_addresses(*, but: str) -> list[str]:
    """Return the e-mail addresses of those who may approve, except of one person."""
    users = User.objects.with_perm("registry.add_release", backend="django.contrib.auth.backends.ModelBackend")
    reviewers = users.filter(is_staff=True).exclude(username=but).exclude(email="")
    return list(reviewers.order_by("pk").values_list("email", flat=True).distinct())


def describe_reach(*, by: str) -> str:
    """Return who gets a message if this person asks for a review."""
    reached = []
    if settings.GATEWAY_SENDS_EMAIL and (count := len(find_reviewer_addresses(but=by))):
        reached.append("1 person who may approve gets an e-mail" if count == 1 else f"{count} people get an e-mail")
    if settings.GATEWAY_NOTIFY_URL:
        reached.append("the webhook is called")
    if reached:
        text = " and ".join(reached)
        return f"{text[0].upper()}{text[1:]}."
    return "Nobody gets a message, because no e-mail or webhook reaches them. Tell somebody who may publish."
