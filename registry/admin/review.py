"""The page that shows what publishing would change for models, and publishes the draft."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone

from analytics import reports
from core import desk
from registry import draft, releases, review
from registry.admin import showing
from registry.forms import PublishForm
from registry.models import Release

MAY_SEE = ("op", "group", "promptsection")


class Reviewing(desk.ModelAdmin[Release]):
    """Adds the review page to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("review/", self.admin_site.admin_view(self.review_view), name="registry_release_review")
        return [own, *super().get_urls()]

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")

    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Show the draft compared with the live release; on POST publish it."""
        if not request.user.has_perms([f"registry.view_{model}" for model in MAY_SEE]):
            raise PermissionDenied
        found = review.of_draft()
        form = self._form(request, found)
        if request.method == "POST" and form is not None and form.is_valid() and self._publish(request, found, form):
            return redirect("admin:registry_release_changelist")
        page = Paginator(found.changes, showing.PAGE).get_page(request.GET.get("p"))
        context = {
            "title": "Review and publish",
            "review": found,
            "counted": showing.counted(found.changes),
            "cost": _cost(found),
            "form": form,
            **showing.findings(found.verdict.problems or found.verdict.warnings),
            **showing.differences(page, found.differences(list(page))),
        }
        return TemplateResponse(request, "registry/review.html", self.admin_site.each_context(request) | context)

    def _form(self, request: HttpRequest, found: review.Review) -> PublishForm | None:
        """Return the publish form, or None without the permission. Raises PermissionDenied for a POST without it."""
        if not self.has_publish_permission(request):
            if request.method == "POST":
                raise PermissionDenied
            return None
        return PublishForm(request.POST or None, is_warned=bool(found.verdict.warnings))

    def _publish(self, request: HttpRequest, found: review.Review, form: PublishForm) -> bool:
        """Publish the reviewed draft and return whether it worked. Adds errors to the form."""
        said: dict[str, Any] = form.cleaned_data
        if said["seen"] != found.seen:
            form.add_error(None, "The draft has changed since you reviewed it. Review the changes again.")
            return False
        try:
            release = releases.publish(
                note=said["note"],
                by=str(request.user),
                at=timezone.now(),
                accepted=said.get("because", ""),
                seen=found.version,
            )
        except releases.AlreadyLive:
            form.add_error(None, "Nothing to publish. Your draft matches the live release.")
        except (releases.NotPublishable, releases.NeedsReason, releases.Withdrawn, draft.Moved) as error:
            form.add_error(None, str(error))
        else:
            told = f"Release {release} is live with {release.op_count} ops."
            self.message_user(request, told, messages.SUCCESS)
            return True
        return False


def _cost(found: review.Review) -> str:
    """Return the daily cost of the changed ops in words, from recent reads; empty if it does not change."""
    kept = {op: more for op, more in found.verdict.kept.items() if any(more)}
    if not kept:
        return ""
    known = reports.each_reads_a_day(at=timezone.now())
    reads = {op: known[op] for op in kept if op in known and (known[op].short or known[op].full)}
    if not reads:
        return f"not read in the last {reports.DAYS} days"
    return showing.a_day(sum(kept[op][0] * each.short + kept[op][1] * each.full for op, each in reads.items()))
