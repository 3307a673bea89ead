"""A page that lists the pages behind a sidebar entry, under headings: Guides and System."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

GUIDES_PAGE = "guides"  # URL names
SYSTEM_PAGE = "system"


def page(request: HttpRequest) -> HttpResponse:
    """List what the sidebar has behind the current entry. Pages that the user may not open are not in it."""
    context = admin.site.each_context(request)
    entry = context.get("breadcrumb_entry")
    if entry is None or "lists" not in entry:
        raise PermissionDenied
    return TemplateResponse(request, "console/index_page.html", context | {"title": entry["title"], "entry": entry})
