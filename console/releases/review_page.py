"""The review of the draft: what changed, checks, tokens and the panel to publish it."""

from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminTextareaWidget

from analytics.rollout import impact
from console import chat_links, diff_view
from console.evals import results
from console.forms import LATER, PUBLISH_ERRORS, GuardedStepsForm, PublishForm
from console.releases import added_ops, guarded_release, release_texts, schedule, selection, warning_groups
from console.releases.cohort_release import COHORT, CohortReleaseForm, release_reviewed
from console.releases.guarded_release import STEPS
from console.releases.publish_progress import PARAMETER, keep_progress, show_progress
from core import memory
from core.admin import base
from core.admin.form_fields import PlainTextField
from core.text import notes
from notifications.models import Notification
from registry.checks import Finding
from registry.models import Release, ReviewRequest
from registry.models.review import MAX_COMMENT_LENGTH, Person
from registry.releases import lifecycle, publishing, recorded_calls, restore, review
from registry.releases.publishing import ShowProgress
from registry.releases.review import DraftReview
from registry.reviews import approval, cohort_release, holds, requests
from registry.reviews import approval as reviewed_publishing
from registry.reviews import guarded_release as reviewed_steps
from registry.reviews.approval import ReviewDecision
from registry.reviews.holds import Holders

ASK, COMMENT, APPROVE, SEND_BACK, WITHDRAW = "ask", "comment", "approve", "send_back", "withdraw"  # buttons
ASKED_BY_STEP = {COMMENT: "what the others should know", SEND_BACK: "what needs to change"}
ABOUT_DRAFT = (ASK, APPROVE, SEND_BACK)  # they require that the user has seen the current draft
MAX_SHOWN_COMMENTS = 200
MAX_NOTE = 200
OUTDATED = "The draft has changed since you reviewed it. Review the changes again."
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
        asked = ASKED_BY_STEP.get(step)
        if asked and (problem := notes.find_note_problem(self.cleaned_data["comment"], asked)):
            self.add_error("comment", problem)
        if step in ABOUT_DRAFT and self.cleaned_data["seen"] != draft_review.seen:
            self.add_error(None, OUTDATED)
        if step in ABOUT_DRAFT and not draft_review.changes:
            self.add_error(None, "There is nothing to review: the draft matches the live release.")
        return not self.errors


def may_take_part(request: HttpRequest) -> bool:
    """Return whether the user can ask for reviews and comment on them."""
    return request.user.has_perm("registry.add_reviewrequest")


def may_decide(request: HttpRequest) -> bool:
    """Return whether the user can approve drafts, which requires the permission to publish."""
    return request.user.has_perm("registry.add_release")


def is_asker(request: HttpRequest, open_request: ReviewRequest | None) -> bool:
    """Return whether the user asked for the review, even under an earlier name."""
    user = Person(str(request.user), request.user.pk)
    return open_request is not None and open_request.asker.is_same(user)


def build_panel_context(
    request: HttpRequest,
    draft_review: DraftReview,
    decision: ReviewDecision,
    holders: Holders,
    form: ReviewForm | None = None,
) -> dict[str, Any]:
    """Return the context of console/releases/review_panel.html."""
    linked = selection.find_linked_review(request, holders)
    open_request = linked or requests.find_review(draft_review.selection, holders.reviews)
    is_current = open_request is not None and requests.is_about(open_request, draft_review.selection)
    can_publish = may_decide(request) and decision.allowed  # then the button to publish is the main one
    steps = _list_steps(request, draft_review, open_request, is_current=is_current, can_publish=can_publish)
    return {
        "open_request": open_request,
        "is_current": is_current,
        "is_outdated": open_request is not None and bool(holds.find_state(open_request).changed),
        "is_own": open_request is not None and approval.is_of_own_changes(open_request, draft_review.selection),
        "other_reviews": [review for review in holders.reviews if review != open_request],
        "comments": list(open_request.comments.order_by("id")[:MAX_SHOWN_COMMENTS]) if open_request else [],
        "steps": steps,
        "review_form": form or ReviewForm(),
        "decision": decision,
        "reach_hint": requests.describe_reach(by=str(request.user)) if any(s == ASK for s, _, _ in steps) else "",
        "unsent": _count_unsent(request),
    }


def _count_unsent(request: HttpRequest) -> int:
    """Return how many messages could not be sent, for users who can see them."""
    if not request.user.has_perm("notifications.view_notification"):
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
                steps.append((APPROVE, "Approve", not can_publish))
            steps.append((SEND_BACK, "Request changes", False))
        if may_take_part(request):
            if open_request is None:
                steps.append((ASK, "Ask for a review", not can_publish))
            elif not is_current or open_request.state == State.SENT_BACK:
                steps.append((ASK, "Ask again for the current draft", asked))
    if open_request and may_take_part(request):
        steps.append((COMMENT, "Comment", False))
        if asked or may_decide(request):
            steps.append((WITHDRAW, "Withdraw the request", False))
    return steps


class ReviewMixin(base.ModelAdmin[Release]):
    """Adds the review page to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("review/", self.admin_site.admin_view(self.review_view), name="registry_release_review")
        return [own, *super().get_urls()]

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")

    @memory.pause_gc()  # while thousands of ops are in memory, each collection would take a tenth of a second
    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Show the selected changes compared with the live release; on POST publish them, or select others."""
        if not diff_view.can_see_draft(request):
            raise PermissionDenied
        if request.method == "POST":
            with keep_progress(request) as progress:
                progress("Checking the draft")
                return self._review_selection(request, progress)
        if PARAMETER in request.GET:
            return show_progress(request)
        return self._review_selection(request)

    def _review_selection(
        self, request: HttpRequest, progress: ShowProgress = publishing.show_no_progress
    ) -> HttpResponse:
        holders = Holders.load()
        draft_review = review.review_draft(selection.choose_changes(request, holders))
        if request.method == "POST" and request.POST.get("step") in selection.STEPS:
            return selection.take_step(request, request.POST["step"], draft_review, holders)
        form = self._build_form(request, draft_review)
        if request.method == "POST" and form is not None and form.is_valid() and _is_as_seen(draft_review, form):
            if request.POST.get("when") == LATER:
                if schedule.schedule_reviewed(request, draft_review, form):
                    return redirect(f"{reverse('admin:registry_release_review')}#scheduled")
            elif request.POST.get("when") == COHORT:
                cohort_form = CohortReleaseForm(request.POST, reach=impact.measure_reach(timezone.now()))
                if cohort_form.is_valid() and (cohort := release_reviewed(request, draft_review, form, cohort_form)):
                    return redirect("admin:analytics_cohort_change", cohort.pk)
                return self.render_review(request, draft_review, holders, form=form, cohort_form=cohort_form)
            elif request.POST.get("when") == STEPS:
                steps_form = guarded_release.build_form(request.POST, reach=impact.measure_reach(timezone.now()))
                if steps_form.is_valid() and (
                    experiment := guarded_release.release_reviewed(request, draft_review, form, steps_form)
                ):
                    return redirect("admin:analytics_experiment_change", experiment.pk)
                return self.render_review(request, draft_review, holders, form=form, steps_form=steps_form)
            elif self._publish_reviewed(request, draft_review, form, progress):
                return redirect("admin:registry_release_changelist")
        return self.render_review(request, draft_review, holders, form=form)

    def render_review(
        self,
        request: HttpRequest,
        draft_review: review.DraftReview,
        holders: Holders,
        *,
        form: PublishForm | None = None,
        cohort_form: CohortReleaseForm | None = None,
        steps_form: GuardedStepsForm | None = None,
        review_form: ReviewForm | None = None,
    ) -> HttpResponse:
        """Return the page, with the forms as they were sent."""
        if form is None and self.has_publish_permission(request):
            form = _build_publish_form(draft_review)
        decision = approval.decide(by=str(request.user), chosen=draft_review.selection)
        reach = impact.measure_reach(timezone.now()) if form else None
        collapsed, listed = added_ops.split_changes(draft_review.changes)
        page = Paginator(listed, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
        differences = draft_review.build_differences(list(page))
        context = {
            "title": "Review and publish",
            # Without the snapshots: Django's contexts are reference cycles, which would hold them until a full garbage
            # collection, and those are rare in a process that holds a catalog.
            "review": replace(draft_review, selection=draft_review.selection.without_contents()),
            **results.build_summary_context(draft_review.evals),
            "change_counts": diff_view.format_change_counts(draft_review.changes),
            "cost": release_texts.format_daily_cost(draft_review.verdict.tokens_by_op),
            "form": form,
            "suggested_note": release_texts.suggest_note(draft_review.changes),
            "discard_label": release_texts.label_discarding(
                differences, len(draft_review.selection.all_changes), user=str(request.user)
            ),
            "undone": restore.find_undone_changes(draft_review.changes, draft_review.selection.after),
            "can_discard": draft_review.live is not None and diff_view.can_write_draft(request),
            "replay": None
            if draft_review.verdict.problems
            else recorded_calls.replay_changes(
                draft_review.changes, draft_review.selection.before, draft_review.selection.after
            ),
            "reach": reach,
            "first_cohorts": cohort_release.query_cohorts(draft_review.same_release)
            if draft_review.same_release and form
            else (),
            "cohort_form": cohort_form
            or (CohortReleaseForm(reach=reach, same_release=draft_review.same_release) if reach else None),
            "steps_form": steps_form or (guarded_release.build_form(reach=reach) if reach else None),
            "running_experiments": reviewed_steps.list_running() if reach else (),
            "way": STEPS if steps_form else COHORT if cohort_form else "",
            **build_panel_context(request, draft_review, decision, holders, review_form),
            **schedule.build_schedule_context(holders),
            **selection.build_selection_context(draft_review, holders),
            **diff_view.build_findings_context(
                _list_own_problems(draft_review),
                draft_review.changes if diff_view.can_write_draft(request) else (),
            ),
            **warning_groups.build_context(draft_review.verdict, may_fix=diff_view.can_write_draft(request)),
            "accepted_groups": (request.POST or request.GET).getlist(warning_groups.ACCEPTED),
            **added_ops.build_context(collapsed, draft_review.verdict.new_tokens),
            **diff_view.build_diff_context(page, differences),
        }
        # Rendered here, so that the snapshots are freed before objects are collected again.
        return render(request, "console/releases/review.html", self.admin_site.each_context(request) | context)

    def _build_form(self, request: HttpRequest, draft_review: review.DraftReview) -> PublishForm | None:
        """Return the publish form, or None without the permission. Raises PermissionDenied for a POST without it."""
        if not self.has_publish_permission(request):
            if request.method == "POST":
                raise PermissionDenied
            return None
        note = request.GET.get("note", "")[:MAX_NOTE]  # such as what an import proposes
        return _build_publish_form(draft_review, request.POST or None, note=note)

    def _publish_reviewed(
        self, request: HttpRequest, draft_review: review.DraftReview, form: PublishForm, progress: ShowProgress
    ) -> bool:
        """Publish the reviewed draft and return whether it worked. Adds errors to the form."""
        try:
            arguments = selection.build_release_arguments(request, draft_review, form)
            release = reviewed_publishing.publish_reviewed(progress=progress, **arguments)
        except lifecycle.AlreadyLive:
            form.add_error(None, "Nothing to publish. Your draft matches the live release.")
        except PUBLISH_ERRORS as error:
            form.add_error(None, str(error))
        else:
            message = release_texts.describe_published(release)
            trials = chat_links.format_trials(added_ops.query_services(draft_review.selection))
            self.message_user(request, format_html("{} {}", message, trials), messages.SUCCESS)
            selection.forget_selection(request)
            return True
        return False


def _list_own_problems(draft_review: review.DraftReview) -> list[Finding]:
    """Return what blocks, without the problems that other changes would resolve: these are in the list of conflicts."""
    resolved = [each.finding for each in draft_review.missing]
    return [each for each in draft_review.verdict.problems if each not in resolved]


def _is_as_seen(draft_review: review.DraftReview, form: PublishForm) -> bool:
    """Return whether the user has seen the current draft. Adds an error if not."""
    if form.cleaned_data["seen"] == draft_review.seen:
        return True
    form.add_error(None, OUTDATED)
    return False


def _build_publish_form(draft_review: review.DraftReview, data: Any = None, *, note: str = "") -> PublishForm:
    groups = warning_groups.group_findings(draft_review.verdict.warnings)
    return PublishForm(
        data,
        initial={"note": note},
        warning_groups={key: len(each) for key, each in groups.items()},
        is_loss=draft_review.needs_loss_reason,
    )
