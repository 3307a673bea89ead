"""Route API calls straight to their views: they need no sessions, CSRF, messages or static files."""

from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from typing import cast

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.security import SecurityMiddleware
from django.urls import resolve

from config import csp
from core.http.response_headers import PlainHeaders
from core.server.environ import BODY_PROBLEM
from gateway.api import error_pages

MAX_HOSTS = 1_000  # that were allowed

# Resolving takes a twentieth of a call's time, and there are few endpoints.
_resolve_cached = lru_cache(maxsize=100)(resolve)


def api_first(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable[[HttpRequest], HttpResponseBase]:
    """Answer API calls here, and pass other requests on to the middleware below it in MIDDLEWARE.

    The middleware below would take a quarter of the time of a cached help call. Answers get here what it adds to pages
    for security.
    """
    answer_call = cast(Callable[[HttpRequest], HttpResponseBase], convert_exception_to_response(_answer_call))
    always, on_https = _list_security_headers(is_secure=False), _list_security_headers(is_secure=True)
    https_only = [header for header in on_https if header not in always]  # HSTS, if it is on
    prefixes = settings.API_PREFIXES

    def middleware(request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if path.startswith(prefixes):
            response = answer_call(request)
        elif BODY_PROBLEM in request.META:
            response = error_pages.body_not_read(request)
        else:
            return get_response(request)
        headers = PlainHeaders.replace_in(response)
        headers.add_missing(always)
        headers.add_missing([(csp.HEADER, csp.FILES if path.startswith(csp.FILES_PATH) else csp.DENY_ALL)])
        if https_only and request.is_secure():
            headers.add_missing(https_only)
        return response

    return middleware


def _answer_call(request: HttpRequest) -> HttpResponse:
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        return error_pages.https_required(request)
    _check_host(request)
    request.resolver_match = match = _resolve_cached(request.path_info)  # raises Http404 for unknown paths
    response: HttpResponse = match.func(request, *match.args, **match.kwargs)
    PlainHeaders.replace_in(response).add([("Content-Length", str(len(response.content)))])
    return response


_allowed_hosts: dict[str, object] = {}  # Host header -> the ALLOWED_HOSTS that allowed it


def _check_host(request: HttpRequest) -> None:
    """Raise DisallowedHost for unknown hosts, as CommonMiddleware does for pages."""
    host, allowed = request.META.get("HTTP_HOST"), settings.ALLOWED_HOSTS
    if host is not None and _allowed_hosts.get(host) is allowed:
        return
    request.get_host()
    if host is not None and not settings.USE_X_FORWARDED_HOST and len(_allowed_hosts) < MAX_HOSTS:
        _allowed_hosts[host] = allowed


def _list_security_headers(*, is_secure: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers that SecurityMiddleware adds to each response, which depend on nothing else."""
    scheme = "https" if is_secure else "http"
    request = WSGIRequest({"REQUEST_METHOD": "GET", "wsgi.url_scheme": scheme, "wsgi.input": BytesIO()})
    response = HttpResponse()
    del response.headers["Content-Type"]
    SecurityMiddleware(lambda _: response).process_response(request, response)
    return tuple(response.headers.items())
