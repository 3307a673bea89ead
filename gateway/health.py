"""Is it alive, is it ready: for a load balancer, without a key."""

from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from registry import catalogs


@require_safe
@never_cache
def alive(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when calls can be served: the database answers and a release is live; else 503, saying which."""
    checks = {"database": _database(), "release": _release()}
    ok = all(check == "ok" for check in checks.values())
    return JsonResponse({"status": "ok" if ok else "not ready", "checks": checks}, status=200 if ok else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return "does not answer"
    return "ok"


def _release() -> str:
    try:
        catalogs.live()
    except (catalogs.NothingLive, DatabaseError, InterfaceError):
        return "none is live"
    return "ok"
