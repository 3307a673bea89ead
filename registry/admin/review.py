"""The page that shows what publishing the draft would change for models, and publishes it."""

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
    """The review, on the releases' pages."""

    def get_urls(self) -> list[URLPattern]:
        own = path("review/", self.admin_site.admin_view(self.review_view), name="registry_release_review")
        return [own, *super().get_urls()]

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("registry.add_release")

    def review_view(self, request: HttpRequest) -> HttpResponse:
        """Show the draft beside what is live; on POST publish it."""
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
        """Return the form of whoever may publish; nobody else posts."""
        if not self.has_publish_permission(request):
            if request.method == "POST":
                raise PermissionDenied
            return None
        return PublishForm(request.POST or None, is_warned=bool(found.verdict.warnings))

    def _publish(self, request: HttpRequest, found: review.Review, form: PublishForm) -> bool:
        """Publish what was looked at; where that cannot be, say why on the form."""
        said: dict[str, Any] = form.cleaned_data
        if said["seen"] != found.seen:
            form.add_error(None, "The draft was edited in the meantime. Look at what is different now.")
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
            form.add_error(None, "Nothing to publish: the draft is what is live.")
        except (releases.NotPublishable, releases.NeedsReason, releases.Withdrawn, draft.Moved) as error:
            form.add_error(None, str(error))
        else:
            told = f"Release {release} is live with {release.op_count} ops."
            self.message_user(request, told, messages.SUCCESS)
            return True
        return False


def _cost(found: review.Review) -> str:
    """Return what the changed ops that stay cost a day, as often as they were read lately; empty: as much as before."""
    kept = {op: more for op, more in found.verdict.kept.items() if any(more)}
    if not kept:
        return ""
    known = reports.each_reads_a_day(at=timezone.now())
    reads = {op: known[op] for op in kept if op in known and (known[op].short or known[op].full)}
    if not reads:
        return f"nobody read them in the last {reports.DAYS} days"
    return showing.a_day(sum(kept[op][0] * each.short + kept[op][1] * each.full for op, each in reads.items()))
