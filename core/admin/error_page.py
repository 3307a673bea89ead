"""The page that a person sees in the browser when a page does not exist or is not allowed."""

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

# A page without scripts, wherever it is: other addresses outside of the admin may load nothing.
PLAIN_PAGE_POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"


def is_browser(request: HttpRequest) -> bool:
    """Return whether a person's browser asked for a page. Below the prefixes of the API, everyone gets its errors."""
    return "text/html" in request.headers.get("Accept", "") and not request.path_info.startswith(settings.API_PREFIXES)


def render_error_page(request: HttpRequest, *, title: str, message: str, status: int) -> HttpResponse:
    """Return a page with the message and a link to the home page. In the admin, it has the admin's sidebar."""
    user = getattr(request, "user", None)
    is_staff = user is not None and user.is_active and user.is_staff
    is_in_admin = is_staff and request.path.startswith(reverse("admin:index"))
    template = "console/error.html" if is_in_admin else "console/plain_error.html"
    context = (admin.site.each_context(request) if is_in_admin else {}) | {"title": title, "message": message}
    response = render(request, template, context, status=status)
    if not is_in_admin:
        response.headers["Content-Security-Policy"] = PLAIN_PAGE_POLICY
    return response
