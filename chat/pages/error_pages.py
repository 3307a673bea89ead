"""Pages for errors that no view handles."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 - Django passes it
    """Answer for an address that does not exist."""
    context = {"title": "Page not found", "message": "Check the address.", "has_chat": True}
    return render(request, "chat/error.html", context, status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer if a view failed."""
    message = "The error was logged. Go back and try again."
    context = {"title": "Something went wrong here", "message": message, "has_chat": True}
    return render(request, "chat/error.html", context, status=500)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - Django passes it
    """Answer for a form whose token is missing or old."""
    message = "The page was open for too long, or cookies are blocked. Go back, reload it and try again."
    context = {"title": "Reload the page and try again", "message": message, "has_chat": True}
    return render(request, "chat/error.html", context, status=403)
