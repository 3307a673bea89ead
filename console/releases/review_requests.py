"""Reviews of the draft: the steps that the review page offers, and the list of all reviews with what people wrote."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from console import diff_view
from console.releases import review_page, selection
from console.releases.review_page import APPROVE, ASK, COMMENT, SEND_BACK, WITHDRAW, ReviewForm, ReviewMixin
from core import memory
from core.admin import base
from registry.models import ReviewRequest
from registry.releases import review
from registry.releases.review import DraftReview
from registry.reviews import holds, requests
from registry.reviews.holds import Holders
from registry.reviews.requests import ReviewRefused

DONE = {
    ASK: "You requested a review.",
    COMMENT: "Your comment is saved.",
    APPROVE: "You approved these changes. If one of them changes, your approval no longer counts.",
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
        draft_review, form = (
            review.review_draft(selection.choose_changes(request, Holders.load())),
            ReviewForm(request.POST),
        )
        if form.check_step(step, draft_review) and _take_step(request, step, draft_review, form):
            self.message_user(request, DONE[step], messages.SUCCESS)
            return redirect(f"{request.get_full_path()}#discussion")
        return self.render_review(request, draft_review, Holders.load(), review_form=form)


def _check_permission(request: HttpRequest, step: str) -> None:
    if not diff_view.can_see_draft(request):
        raise PermissionDenied
    allowed = review_page.may_decide(request) if step in (APPROVE, SEND_BACK) else review_page.may_take_part(request)
    if step == WITHDRAW:
        allowed = review_page.is_asker(request, _find_review(request)) or review_page.may_decide(request)
    if not allowed:
        raise PermissionDenied


def _find_review(request: HttpRequest) -> ReviewRequest | None:
    """Return the open review whose page sent the step."""
    sent = request.POST.get("about", "")
    return next((each for each in holds.list_open_reviews() if str(each.pk) == sent), None)


def _take_step(request: HttpRequest, step: str, draft_review: DraftReview, form: ReviewForm) -> bool:
    """Take a step and return whether it worked. Adds an error to the form."""
    by, at = str(request.user), timezone.now()
    chosen, comment = draft_review.selection, form.cleaned_data["comment"].strip()
    about, summary = _find_review(request), diff_view.format_change_counts(draft_review.changes)
    try:
        if step == ASK:
            requests.ask_for_review(chosen, summary=summary, comment=comment, by=by, at=at)
        elif about is None:
            raise ReviewRefused("This review is closed: it was published or withdrawn. Ask for a new one.")
        elif step == COMMENT:
            requests.add_comment(about, comment=comment, by=by, at=at)
        elif step == APPROVE:
            requests.approve_changes(about, chosen, summary=summary, comment=comment, by=by, at=at)
        elif step == SEND_BACK:
            requests.request_changes(about, chosen, summary=summary, comment=comment, by=by, at=at)
        else:
            requests.withdraw_request(about, comment=comment, by=by, at=at)
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
