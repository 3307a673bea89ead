"""The part of the review page on which people ask for a review, comment, approve and request changes."""

from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextareaWidget

from analytics.models import Notification
from core.admin.form_fields import PlainTextField
from registry.models import ReviewRequest
from registry.models.review import MAX_COMMENT_LENGTH, Person
from registry.releases.review import DraftReview
from registry.reviews import requests
from registry.reviews.approval import Decision

ASK, COMMENT, APPROVE, SEND_BACK, WITHDRAW = "ask", "comment", "approve", "send_back", "withdraw"  # buttons
NEED_TEXT = {COMMENT: "Write a comment.", SEND_BACK: "Say what has to change."}
ABOUT_DRAFT = (ASK, APPROVE, SEND_BACK)  # they need to have seen the draft as it is
MAX_SHOWN_COMMENTS = 200

State = ReviewRequest.State


class ReviewForm(forms.Form):
    """A comment, and the button that sends it."""

    comment = PlainTextField(
        label="Comment",
        required=False,
        max_length=MAX_COMMENT_LENGTH,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)  # registry.releases.review.DraftReview.seen

    def check_step(self, step: str, draft_review: DraftReview) -> bool:
        """Return whether the step is possible with what was sent. Adds errors."""
        if not self.is_valid():
            return False
        if step in NEED_TEXT and not self.cleaned_data["comment"].strip():
            self.add_error("comment", NEED_TEXT[step])
        if step in ABOUT_DRAFT and self.cleaned_data["seen"] != draft_review.seen:
            self.add_error(None, "The draft has changed since you reviewed it. Review the changes again.")
        if step in ABOUT_DRAFT and not draft_review.changes:
            self.add_error(None, "There is nothing to review: the draft matches the live release.")
        return not self.errors


def may_take_part(request: HttpRequest) -> bool:
    """Return whether the user may ask for reviews and comment on them."""
    return request.user.has_perm("registry.add_reviewrequest")


def may_decide(request: HttpRequest) -> bool:
    """Return whether the user may approve drafts: those who may publish them."""
    return request.user.has_perm("registry.add_release")


def is_asker(request: HttpRequest, open_request: ReviewRequest | None) -> bool:
    """Return whether the user asked for the review, whatever the name was then."""
    user = Person(str(request.user), request.user.pk)
    return open_request is not None and open_request.asker.is_same(user)


def build_panel_context(
    request: HttpRequest, draft_review: DraftReview, decision: Decision, form: ReviewForm | None = None
) -> dict[str, Any]:
    """Return the context of console/releases/review_panel.html."""
    open_request = requests.get_open_request()
    is_current = open_request is not None and open_request.is_about(draft_review.version)
    can_publish = may_decide(request) and decision.allowed
    steps = _list_steps(request, draft_review, open_request, is_current=is_current, can_publish=can_publish)
    return {
        "open_request": open_request,
        "is_current": is_current,
        "comments": list(open_request.comments.order_by("id")[:MAX_SHOWN_COMMENTS]) if open_request else [],
        "steps": steps,
        "review_form": form or ReviewForm(),
        "decision": decision,
        "reach_hint": requests.describe_reach(by=str(request.user)) if any(s == ASK for s, _, _ in steps) else "",
        "unsent": _count_unsent(request),
    }


def _count_unsent(request: HttpRequest) -> int:
    """Return how many messages could not be sent, for users who may look into it."""
    if not request.user.has_perm("analytics.view_notification"):
        return 0
    return Notification.objects.exclude(state=Notification.State.SENT).exclude(last_error="").count()


def _list_steps(
    request: HttpRequest,
    draft_review: DraftReview,
    open_request: ReviewRequest | None,
    *,
    is_current: bool,
    can_publish: bool,
) -> list[tuple[str, str, bool]]:
    """Return the buttons that the user gets: (step, label, whether it is the main one)."""
    steps = []
    asked = is_asker(request, open_request)
    if draft_review.changes:
        if open_request and may_decide(request) and not asked:
            if not (is_current and open_request.state == State.APPROVED):
                steps.append((APPROVE, "Approve", True))
            steps.append((SEND_BACK, "Request changes", False))
        if may_take_part(request):
            if open_request is None:
                steps.append((ASK, "Ask for a review", not can_publish))
            elif not is_current or open_request.state == State.SENT_BACK:
                steps.append((ASK, "Ask again, for the draft as it is now", asked))
    if open_request and may_take_part(request):
        steps.append((COMMENT, "Comment", False))
        if asked or may_decide(request):
            steps.append((WITHDRAW, "Withdraw the request", False))
    return steps
