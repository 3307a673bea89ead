"""The page that a person sees in the browser when an admin page does not exist or is not allowed."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse


def is_admin_page(request: HttpRequest) -> bool:
    """Return whether a logged-in user's browser asked for an admin page."""
    is_logged_in = hasattr(request, "user") and request.user.is_authenticated
    return (
        is_logged_in
        and request.path.startswith(reverse("admin:index"))
        and "text/html" in request.headers.get("Accept", "")
    )


def render_error_page(request: HttpRequest, *, title: str, message: str, status: int) -> HttpResponse:
    """Return an admin page with the message and a link to the home page."""
    context = admin.site.each_context(request) | {"title": title, "message": message}
    return render(request, "admin_ui/error.html", context, status=status)
