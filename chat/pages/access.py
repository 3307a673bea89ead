"""Who may see a page: people who are signed in and have a chat profile."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from chat.access.identity import get_subject
from chat.errors import ApiError

PageView = Callable[..., HttpResponse]


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Send somebody to sign in, and back to this page afterwards."""
    return redirect(f"{reverse('chat_sign_in')}?{urlencode({'next': request.get_full_path()})}")


def ask_to_sign_in_elsewhere(request: HttpRequest) -> HttpResponse:
    """Ask somebody to sign in, in a tab of its own: the sign-in page is never shown in a frame."""
    return render(request, "chat/panel_sign_in.html", status=401)


def page_view(*, if_anonymous: PageView = redirect_to_sign_in) -> Callable[[PageView], PageView]:
    """Decorate a view, which gets the subject of the user as its second argument."""

    def decorate(view: PageView) -> PageView:
        @wraps(view)
        def wrapper(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                response = if_anonymous(request)
            else:
                try:
                    response = view(request, get_subject(request.user.pk), **kwargs)
                except ApiError as error:
                    response = show_error(request, error)
            response.headers["Cache-Control"] = "no-store"
            return response

        return wrapper

    return decorate


def show_error(request: HttpRequest, error: ApiError) -> HttpResponse:
    """Return a page that says what is wrong and who can help."""
    titles = {"no_profile": "You have no chat profile", "not_found": "This conversation does not exist"}
    message = error.message
    if error.code == "not_found":
        message = "It may have been deleted, or it belongs to somebody else."
    context = {
        "title": titles.get(error.code, "This page cannot be shown"),
        "message": message,
        "has_chat": error.code != "no_profile",
    }
    return render(request, "chat/error.html", context, status=error.status)
