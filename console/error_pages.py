"""Pages for a person whose address does not exist or whose role does not allow it. All others get the API's answer."""

from django.http import HttpRequest, HttpResponse

from console.access.roles import describe_refusal
from core.admin import page_parts
from gateway.api import error_pages


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 404 response for an unknown URL."""
    if not page_parts.is_browser(request):
        return error_pages.not_found(request, exception)
    message = "This page does not exist, or what it showed was deleted."
    return page_parts.render_error_page(request, title="Page not found", message=message, status=404)


def render_forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return the 403 response for requests that Django forbids before any view, and for pages of other roles."""
    if not page_parts.is_browser(request):
        return error_pages.render_forbidden(request, exception)
    is_signed_in = hasattr(request, "user") and request.user.is_authenticated
    message = describe_refusal(request) if is_signed_in else "Sign in to the console to open this page."
    return page_parts.render_error_page(request, title="Not allowed", message=message, status=403)
