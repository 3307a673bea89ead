"""Refuse pages of other sites: a browser must not reach a server on the user's own machine (DNS rebinding)."""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest
from django.http.request import validate_host

from gateway.contracts.errors import PermissionDeniedError

REASON = "origin_not_allowed"


def check_origin(request: HttpRequest) -> None:
    """Raise PermissionDeniedError for a request of a page whose host is not one of ALLOWED_HOSTS.

    Programs send no Origin. Django has checked the header Host already.
    """
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None:
        return
    host = _find_host(origin)
    if not host or not validate_host(host, settings.ALLOWED_HOSTS):
        raise PermissionDeniedError("Pages of this origin may not call the gateway.", reason=REASON)


def _find_host(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return ""
    return f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname or ""
