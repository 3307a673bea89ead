"""Discard the change of one entry, from the page that shows it: the review."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_POST

from console import diff_view
from core.admin import base
from registry.drafts import draft
from registry.models import Release
from registry.releases import restore
from registry.snapshot.copy_kinds import COPY_KINDS, Kind


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
            self.message_user(request, f"{name} is as in the live release already.", messages.WARNING)
        except (restore.NotDiscardable, draft.DraftRefused) as error:
            self.message_user(request, f"Not discarded. {error}", messages.ERROR)
        else:
            message = f"Discarded the change of {name}. The audit log has it and can revert this."
            self.message_user(request, message, messages.SUCCESS)
        return redirect("admin:registry_release_review")
