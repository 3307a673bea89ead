"""Reviews of the draft: the steps that the review page offers, and the list of all reviews with what people wrote."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from console import diff_view
from console.releases import review_page
from console.releases.review_page import APPROVE, ASK, COMMENT, SEE_DRAFT, SEND_BACK, WITHDRAW, ReviewForm, ReviewMixin
from core import memory
from core.admin import base
from registry.models import ReviewRequest
from registry.releases import review
from registry.releases.review import DraftReview
from registry.reviews import requests
from registry.reviews.requests import ReviewRefused

DONE = {
    ASK: "You asked for a review.",
    COMMENT: "Your comment is saved.",
    APPROVE: "You approved this draft. If it changes, your approval no longer counts.",
    SEND_BACK: "You requested changes.",
    WITHDRAW: "The request is withdrawn.",
}


class ReviewRequestMixin(ReviewMixin):
    """Adds the steps of a review to the review page."""

    @memory.pause_gc()  # as for the page itself
    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Take the step of the button that was pressed; show the review again, with errors if it was refused."""
        step = request.POST.get("step", "")
        if step not in DONE:
            return super().review_view(request)
        _check_permission(request, step)
        draft_review, form = review.review_draft(), ReviewForm(request.POST)
        if form.check_step(step, draft_review) and _take_step(request, step, draft_review, form):
            self.message_user(request, DONE[step], messages.SUCCESS)
            return redirect(f"{reverse('admin:registry_release_review')}#discussion")
        return self.render_review(request, draft_review, review_form=form)


def _check_permission(request: HttpRequest, step: str) -> None:
    if not request.user.has_perms(SEE_DRAFT):
        raise PermissionDenied
    allowed = review_page.may_decide(request) if step in (APPROVE, SEND_BACK) else review_page.may_take_part(request)
    if step == WITHDRAW:
        open_request = requests.get_open_request()
        allowed = review_page.is_asker(request, open_request) or review_page.may_decide(request)
    if not allowed:
        raise PermissionDenied


def _take_step(request: HttpRequest, step: str, draft_review: DraftReview, form: ReviewForm) -> bool:
    """Take a step and return whether it worked. Adds an error to the form."""
    by, at = str(request.user), timezone.now()
    version, comment = draft_review.version, form.cleaned_data["comment"].strip()
    try:
        if step == ASK:
            summary = diff_view.format_change_counts(draft_review.changes)
            requests.ask_for_review(version=version, summary=summary, comment=comment, by=by, at=at)
        elif step == COMMENT:
            requests.add_comment(version=version, comment=comment, by=by, at=at)
        elif step == APPROVE:
            requests.approve_draft(version=version, comment=comment, by=by, at=at)
        elif step == SEND_BACK:
            requests.request_changes(version=version, comment=comment, by=by, at=at)
        else:
            requests.withdraw_request(version=version, comment=comment, by=by, at=at)
    except ReviewRefused as error:
        form.add_error(None, str(error))
        return False
    return True


@admin.register(ReviewRequest)
class ReviewRequestAdmin(base.ReadOnlyMixin, base.ModelAdmin[ReviewRequest]):
    empty = "No reviews yet. Ask for one on Review and publish."
    change_form_template = "console/releases/review_request.html"
    list_display = ["asked_at", "summary", "asked_by", "state", "decided_by"]
    list_display_links = ["asked_at", "summary"]
    list_filter = ["state"]
    search_fields = ["summary", "asked_by", "decided_by"]
    fields = ["summary", "state", ("asked_by", "asked_at"), ("decided_by", "decided_at"), "version"]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show a review with what people wrote."""
        shown = self.get_object(request, object_id)
        comments = shown.comments.order_by("id")[: review_page.MAX_SHOWN_COMMENTS] if shown else []
        context = {"comments": comments, "shown_request": shown}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))
