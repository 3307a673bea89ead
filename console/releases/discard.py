"""Discard what the draft changes: one entry, or everything."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from console import diff_view
from core.admin import base
from registry.drafts import draft
from registry.models import Release
from registry.releases import restore
from registry.releases.restore import UnpublishedChanges
from registry.snapshot.copy_kinds import COPY_KINDS, Kind

FROM_RELEASE, OWN, ALL = "from_release", "own", "all"  # what the buttons discard


class DiscardMixin(base.ModelAdmin[Release]):
    """Adds the button of the review to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.discard_view)
        return [path("review/discard/", view, name="registry_release_discard"), *super().get_urls()]

    @method_decorator(require_POST)
    def discard_view(self, request: HttpRequest) -> HttpResponse:
        """Discard the change of the entry with this `kind` and `name`, and show the review again."""
        if not diff_view.can_write_draft(request):
            raise PermissionDenied
        kind, name = request.POST.get("kind", ""), request.POST.get("name", "")
        if kind not in COPY_KINDS:
            raise Http404("There is no such kind of entry.")
        try:
            restore.discard_change(Kind(kind), name, by=str(request.user), at=timezone.now())
        except draft.NothingToChange:
            self.message_user(request, f"{name} already matches the live release.", messages.WARNING)
        except (restore.NotDiscardable, draft.DraftRefused) as error:
            self.message_user(request, f"Not discarded. {error}", messages.ERROR)
        else:
            message = f"Discarded the change of {name}. You can revert this in the audit log."
            self.message_user(request, message, messages.SUCCESS)
        return redirect("admin:registry_release_review")


class DiscardAllMixin(base.ModelAdmin[Release]):
    """Adds the page to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.discard_all_view)
        return [path("review/discard-all/", view, name="registry_release_discard_all"), *super().get_urls()]

    def discard_all_view(self, request: HttpRequest) -> HttpResponse:
        """Show how the draft differs from the live release; on POST discard that, or a part of it.

        `taken_back` is the version of a release that was live before.
        """
        if not diff_view.can_write_draft(request):
            raise PermissionDenied
        taken_back = Release.objects.filter(pk=request.GET.get("taken_back", "")).first()
        unpublished, error = restore.find_unpublished_changes(taken_back), ""
        own = restore.select_own(unpublished.changes, name=str(request.user)) if unpublished else []
        if request.method == "POST":
            parts = {FROM_RELEASE: unpublished.from_release if unpublished else [], OWN: own}
            try:
                discarded = restore.discard_all_changes(
                    only=parts.get(request.POST.get("discard", "")),
                    seen=request.POST.get("seen", ""),
                    by=str(request.user),
                    at=timezone.now(),
                )
            except (draft.DraftChanged, draft.DraftRefused, draft.NothingToChange) as refused:
                error = f"Nothing was discarded. {refused}"
            else:
                message = f"Reset to the live release: {diff_view.format_change_counts(discarded)}."
                self.message_user(request, f"{message} The audit log keeps what you discarded.", messages.SUCCESS)
                return redirect("admin:registry_release_changelist" if taken_back else "admin:registry_release_review")
            unpublished = restore.find_unpublished_changes(taken_back)
        context = _build_context(unpublished, taken_back) | {"error": error, "own": len(own)}
        return TemplateResponse(
            request, "console/releases/discard_all.html", self.admin_site.each_context(request) | context
        )


def _build_context(unpublished: UnpublishedChanges | None, taken_back: Release | None) -> dict[str, Any]:
    context: dict[str, Any] = {"title": "Keep or discard unpublished changes", "taken_back": taken_back}
    if unpublished is None:
        return context
    came_back = {(change.kind, change.name) for change in unpublished.from_release}
    shown = unpublished.changes[: diff_view.MAX_LISTED]
    return context | {
        "live": unpublished.live,
        "seen": unpublished.seen,
        "count": len(unpublished.changes),
        "change_counts": diff_view.format_change_counts(unpublished.changes),
        "from_release": len(unpublished.from_release),
        "from_release_counts": diff_view.format_change_counts(unpublished.from_release),
        "shown": [(change, (change.kind, change.name) in came_back) for change in shown],
        "hidden_count": len(unpublished.changes) - len(shown),
    }
