"""Publish at a time: the part of the review page that schedules it, and the list of what was scheduled."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.formats import date_format
from django.views.decorators.http import require_POST

from console import diff_view
from console.forms import PublishForm
from console.releases import selection
from core.admin import base
from registry.models import Release, ScheduledPublish
from registry.releases.review import DraftReview
from registry.reviews import approval, holds, scheduling
from registry.reviews.holds import EntriesHeld, Holders
from registry.reviews.scheduling import NotScheduled


class ScheduleMixin(base.ModelAdmin[Release]):
    """Adds the button that cancels a scheduled publish to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.cancel_schedule_view)
        return [path("review/cancel-schedule/", view, name="registry_release_cancel_schedule"), *super().get_urls()]

    @method_decorator(require_POST)
    def cancel_schedule_view(self, request: HttpRequest) -> HttpResponse:
        """Cancel the publish with this `id`, if it still waits, and show the review again."""
        if not request.user.has_perm("registry.add_release"):
            raise PermissionDenied
        sent = request.POST.get("id", "")
        waiting = next((row for row in holds.list_waiting() if str(row.pk) == sent), None)
        if waiting is not None and scheduling.cancel_publish(waiting, by=str(request.user), at=timezone.now()):
            self.message_user(request, "The scheduled publish is cancelled. The draft stays.", messages.SUCCESS)
        else:
            self.message_user(request, "Nothing to cancel: it was published or cancelled already.", messages.WARNING)
        return redirect("admin:registry_release_review")


def schedule_reviewed(request: HttpRequest, draft_review: DraftReview, form: PublishForm) -> bool:
    """Schedule the selected changes and return whether it worked. Adds errors to the form."""
    data = form.cleaned_data
    decision = approval.decide(by=str(request.user), chosen=draft_review.selection)
    if not data["publish_at"]:
        form.add_error("publish_at", "Choose a day and a time.")
        return False
    problem = "" if decision.allowed else decision.reason
    if not draft_review.changes:
        problem = "Nothing to publish. Your draft matches the live release."
    elif draft_review.verdict.problems:
        problem = "The draft cannot be published. Fix its problems first."
    if problem:
        form.add_error(None, problem)
        return False
    try:
        row = scheduling.schedule_publish(
            draft_review.selection,
            summary=diff_view.format_change_counts(draft_review.changes),
            publish_at=data["publish_at"],
            by=str(request.user),
            at=timezone.now(),
            **form.get_reasons(),
        )
    except NotScheduled as error:
        form.add_error("publish_at", str(error))
        return False
    except EntriesHeld as error:
        form.add_error(None, str(error))
        return False
    selection.forget_selection(request)
    when = date_format(timezone.localtime(row.publish_at), "DATETIME_FORMAT")
    messages.success(request, f"These changes go live on {when}, if none of them has changed by then.")
    return True


def build_schedule_context(holders: Holders) -> dict[str, Any]:
    """Return the context of console/releases/schedule.html."""
    return {
        "schedules": scheduling.list_waiting(holders.schedules),
        "failed_schedule": scheduling.get_last_failed(),
        "time_zone": timezone.get_current_timezone_name(),
    }


@admin.register(ScheduledPublish)
class ScheduledPublishAdmin(base.ReadOnlyMixin, base.ModelAdmin[ScheduledPublish]):
    empty = "Nothing has been scheduled yet. Choose a time on Review and publish."
    list_display = ["publish_at", "summary", "note", "state", "reason", "created_by"]
    list_display_links = ["publish_at", "summary"]
    list_filter = ["state"]
    search_fields = ["summary", "note", "created_by"]
    fields = [
        "summary",
        "note",
        ("publish_at", "state"),
        "reason",
        ("created_by", "created_at"),
        ("ended_by", "ended_at"),
        "accepted",
        "accepted_loss",
        "version",
    ]
