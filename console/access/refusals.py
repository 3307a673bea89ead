"""The page that a person sees if a password is not checked: sign-in is locked, or password hashing is busy."""

import logging
import math
from collections.abc import Callable
from functools import lru_cache

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.defaultfilters import pluralize
from django.template.loader import render_to_string
from django.utils import timezone

from core.server.environ import read_client_address
from core.sign_in.throttle import MAX_WAIT_SECONDS, PasswordHashingBusy, SignInLocked

log = logging.getLogger(__name__)

TOO_MANY_REQUESTS = 429


class RefusalMiddleware:
    """Answers with a page if a view raises SignInLocked or PasswordHashingBusy. API calls do not come here."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self._get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Return the page for the exception, or None for others."""
        if isinstance(exception, SignInLocked):
            return _build_locked_response(exception)
        if isinstance(exception, PasswordHashingBusy):
            return _build_busy_response(request)
        return None


def _build_locked_response(lock: SignInLocked) -> HttpResponse:
    seconds = max(1, math.ceil((lock.until - timezone.now()).total_seconds()))
    minutes = math.ceil(seconds / 60)
    sentences = (
        f"There were too many wrong passwords. Try again after {lock.until:%H:%M} UTC, "
        f"in {minutes} minute{pluralize(minutes)}.",
        "An Admin can unlock it sooner under Failed sign-ins, an operator with manage.py axes_reset.",
    )
    return _build_response("Sign-in is locked", sentences, retry_after=seconds)


def _build_busy_response(request: HttpRequest) -> HttpResponse:
    log.warning("sign_in.busy path=%s address=%s", request.path, read_client_address(request.META))
    sentences = ("The server is checking other passwords. Nothing was changed. Go back and try again.",)
    return _build_response("The server is busy", sentences, retry_after=math.ceil(MAX_WAIT_SECONDS))


def _build_response(title: str, sentences: tuple[str, ...], *, retry_after: int) -> HttpResponse:
    response = HttpResponse(_render_page(title, sentences), status=TOO_MANY_REQUESTS)
    response.headers["Retry-After"] = str(retry_after)
    return response


@lru_cache(maxsize=20)
def _render_page(title: str, sentences: tuple[str, ...]) -> str:
    """Return the page, the same for everybody. Cached: attacks request it often, and rendering takes longest."""
    request = HttpRequest()
    request.user = AnonymousUser()
    request.META["SCRIPT_NAME"] = ""
    context = admin.site.each_context(request) | {"title": title, "sentences": sentences}
    return render_to_string("console/access/sign_in_refused.html", context)
