"""The page that shows what publishing would change for models, and publishes the draft."""

from dataclasses import replace
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from analytics import reports
from analytics.rollout import impact
from console import diff_view
from console.evals import results
from console.forms import LATER, PublishForm
from console.releases import review_panel, schedule
from console.releases.review_panel import ReviewForm
from core import memory
from core.admin import base
from registry.drafts import draft
from registry.models import Release
from registry.releases import lifecycle, publishing, recorded_calls, review
from registry.reviews import approval
from registry.reviews import approval as reviewed_publishing

SEE_DRAFT = [f"registry.view_{model}" for model in ("op", "group", "promptsection")]


class ReviewMixin(base.ModelAdmin[Release]):
    """Adds the review page to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("review/", self.admin_site.admin_view(self.review_view), name="registry_release_review")
        return [own, *super().get_urls()]

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")

    @memory.pause_gc()  # while thousands of ops are in memory, each collection would take a tenth of a second
    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Show the draft compared with the live release; on POST publish it."""
        if not request.user.has_perms(SEE_DRAFT):
            raise PermissionDenied
        draft_review = review.review_draft()
        form = self._build_form(request, draft_review)
        if request.method == "POST" and form is not None and form.is_valid() and _is_as_seen(draft_review, form):
            if request.POST.get("when") == LATER:
                if schedule.schedule_reviewed(request, draft_review, form):
                    return redirect(f"{reverse('admin:registry_release_review')}#scheduled")
            elif self._publish_reviewed(request, draft_review, form):
                return redirect("admin:registry_release_changelist")
        return self.render_review(request, draft_review, form=form)

    def render_review(
        self,
        request: HttpRequest,
        draft_review: review.DraftReview,
        *,
        form: PublishForm | None = None,
        review_form: ReviewForm | None = None,
    ) -> HttpResponse:
        """Return the page, with the forms as they were sent."""
        if form is None and self.has_publish_permission(request):
            form = _build_publish_form(draft_review)
        decision = approval.decide(
            by=str(request.user), version=draft_review.version, changes=draft_review.changes, live=draft_review.live
        )
        page = Paginator(draft_review.changes, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
        context = {
            "title": "Review and publish",
            # Without the snapshots: Django's contexts are reference cycles, which would hold them until a full garbage
            # collection, and those are rare in a process that holds a catalog.
            "review": replace(draft_review, before={}, after={}),
            **results.build_summary_context(draft_review.evals),
            "change_counts": diff_view.format_change_counts(draft_review.changes),
            "cost": _format_daily_cost(draft_review),
            "form": form,
            "can_discard": draft_review.live is not None and diff_view.can_write_draft(request),
            "replay": None
            if draft_review.verdict.problems
            else recorded_calls.replay_changes(draft_review.changes, draft_review.before, draft_review.after),
            "reach": impact.measure_reach(timezone.now()) if form else None,
            **review_panel.build_panel_context(request, draft_review, decision, review_form),
            **schedule.build_schedule_context(draft_review),
            **diff_view.build_findings_context(
                draft_review.verdict.problems or draft_review.verdict.warnings,
                draft_review.changes if draft_review.verdict.problems and diff_view.can_write_draft(request) else (),
            ),
            **diff_view.build_diff_context(page, draft_review.build_differences(list(page))),
        }
        # Rendered here, so that the snapshots are freed before objects are collected again.
        return render(request, "console/releases/review.html", self.admin_site.each_context(request) | context)

    def _build_form(self, request: HttpRequest, draft_review: review.DraftReview) -> PublishForm | None:
        """Return the publish form, or None without the permission. Raises PermissionDenied for a POST without it."""
        if not self.has_publish_permission(request):
            if request.method == "POST":
                raise PermissionDenied
            return None
        return _build_publish_form(draft_review, request.POST or None)

    def _publish_reviewed(self, request: HttpRequest, draft_review: review.DraftReview, form: PublishForm) -> bool:
        """Publish the reviewed draft and return whether it worked. Adds errors to the form."""
        data: dict[str, Any] = form.cleaned_data
        try:
            release = reviewed_publishing.publish_reviewed(
                note=data["note"],
                by=str(request.user),
                at=timezone.now(),
                accepted=data.get("because", ""),
                accepted_loss=data.get("lost_because", ""),
                seen=draft_review.version,
            )
        except lifecycle.AlreadyLive:
            form.add_error(None, "Nothing to publish. Your draft matches the live release.")
        except (
            publishing.NotPublishable,
            publishing.ReasonMissing,
            publishing.LossReasonMissing,
            lifecycle.AlreadyWithdrawn,
            draft.DraftChanged,
            approval.ApprovalMissing,
        ) as error:
            form.add_error(None, str(error))
        else:
            message = f"Release {release.short_name} is live with {release.op_count} ops."
            self.message_user(request, message, messages.SUCCESS)
            return True
        return False


def _is_as_seen(draft_review: review.DraftReview, form: PublishForm) -> bool:
    """Return whether the user has seen the draft as it is. Adds an error."""
    if form.cleaned_data["seen"] == draft_review.seen:
        return True
    form.add_error(None, "The draft has changed since you reviewed it. Review the changes again.")
    return False


def _build_publish_form(draft_review: review.DraftReview, data: Any = None) -> PublishForm:
    return PublishForm(data, is_warned=bool(draft_review.verdict.warnings), is_loss=draft_review.needs_loss_reason)


def _format_daily_cost(draft_review: review.DraftReview) -> str:
    """Return the daily cost of the changed ops in words, from recent reads; empty if it does not change."""
    tokens_by_op = {op: more for op, more in draft_review.verdict.tokens_by_op.items() if any(more)}
    if not tokens_by_op:
        return ""
    reads_by_op = reports.average_daily_reads_by_op(at=timezone.now())
    reads = {
        op: reads_by_op[op]
        for op in tokens_by_op
        if op in reads_by_op and (reads_by_op[op].short or reads_by_op[op].full)
    }
    if not reads:
        return f"not read in the last {reports.DAYS} days"
    return diff_view.format_daily_cost(
        sum(tokens_by_op[op][0] * each.short + tokens_by_op[op][1] * each.full for op, each in reads.items())
    )
