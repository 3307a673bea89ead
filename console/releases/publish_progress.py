"""How far publishing is, for the page that waits for it: a large draft takes seconds.

The text is in the session, which all processes can read, and only the person who publishes.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.contrib.sessions.backends.base import UpdateError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from registry.releases.publishing import ShowProgress

SESSION_KEY = "publish_progress"
PARAMETER = "progress"  # of the address of the review page


@contextmanager
def keep_progress(request: HttpRequest) -> Iterator[ShowProgress]:
    """Yield the function that stores what is done now. At the end nothing is stored."""

    def store(text: str) -> None:
        request.session[SESSION_KEY] = text
        with suppress(UpdateError):  # the user signed out in another tab
            request.session.save()

    try:
        yield store
    finally:
        request.session.pop(SESSION_KEY, None)


def show_progress(request: HttpRequest) -> HttpResponse:
    """Show what is done now, for static/console/progress.js."""
    context = {"progress": request.session.get(SESSION_KEY, "")}
    return render(request, "console/releases/publish_progress.html", context)
