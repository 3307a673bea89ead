"""The page that compares two releases, or a release and the draft."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from console import diff_view
from console.forms import CompareForm
from core.admin import base
from registry.models import Release
from registry.releases import help_diff, stored_releases
from registry.snapshot import diff, snapshot


class CompareReleasesMixin(base.ModelAdmin[Release]):
    """Adds the compare page to the release admin."""

    def get_urls(self) -> list[URLPattern]:
        own = path("compare/", self.admin_site.admin_view(self.compare_view), name="registry_release_compare")
        return [own, *super().get_urls()]

    def compare_view(self, request: HttpRequest) -> HttpResponse:
        """Show the differences between the releases `before` and `after` in the query; an empty one is the draft.

        Without a query, compare the live release with the draft.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        live = stored_releases.get_live_release()
        form = CompareForm(request.GET if "after" in request.GET else {"before": live and live.pk, "after": ""})
        context: dict[str, Any] = {"title": "Compare", "form": form}
        if form.is_valid():
            before, after = (_load_content(form.cleaned_data[name]) for name in ("before", "after"))
            found_changes = diff.diff_snapshots(before, after)
            page = Paginator(found_changes, diff_view.PAGE_SIZE).get_page(request.GET.get("p"))
            context |= {"is_compared": True, "change_counts": diff_view.format_change_counts(found_changes)}
            context |= diff_view.build_diff_context(page, help_diff.build_differences(list(page), before, after))
        return TemplateResponse(
            request, "console/releases/compare_releases.html", self.admin_site.each_context(request) | context
        )


def _load_content(release: Release | None) -> dict[str, Any]:
    """Return the content of a release, or of the draft if there is no release."""
    return stored_releases.load_content(release) if release else snapshot.snapshot_draft()
