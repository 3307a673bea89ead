"""Liveness, readiness and Prometheus metrics."""

import hmac
import time

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema

from analytics.events import event_log
from core import metrics
from core.background import poller
from core.database import watch
from core.database.deadlines import limit_waits
from core.database.watch import is_schema_missing
from gateway.api.base import PublicView, render_envelope
from gateway.batches import broker
from gateway.contracts.errors import NotFoundError
from gateway.jobs import late_jobs, runner
from registry.catalog import cache

DOES_NOT_ANSWER = "does not answer"
LOOPBACK = ("127.0.0.1", "::1")


class AliveView(PublicView):
    """Answers 200 as long as the process responds."""

    @extend_schema(exclude=True)
    def get(self, request: HttpRequest) -> HttpResponse:
        return render_envelope({"status": "ok"}, 200)


class ReadyView(PublicView):
    """Answers 200 if the database responds and takes writes and a release is live, else 503 with the failed check.

    The states of the broker, of periodic jobs and of events are included but do not affect the status: calls are served
    without them.
    """

    @extend_schema(exclude=True)
    def get(self, request: HttpRequest) -> HttpResponse:
        checks = {"database": _check_database(), "release": _check_release()}
        ok = all(check == "ok" for check in checks.values())
        checks["broker"] = "takes no messages; batches run one after another" if broker.has_failed() else "ok"
        checks["jobs"] = late_jobs.explain_delay() or "ok"
        checks["events"] = "lost; memory and disk are full" if event_log.is_losing_events() else "ok"
        return render_envelope({"status": "ok" if ok else "not ready", "checks": checks}, 200 if ok else 503)


def _check_database() -> str:
    if not watch.is_answering():
        return DOES_NOT_ANSWER
    try:
        with limit_waits(time.monotonic()), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except (DatabaseError, InterfaceError):
        return DOES_NOT_ANSWER
    return "ok" if runner.takes_writes() else "takes no writes"


def _check_release() -> str:
    """Return whether a release is live, from memory if the database does not answer."""
    try:
        is_live = cache.get_live_version() is not None or cache.get_live_catalog() is not None
    except (cache.NoLiveRelease, DatabaseError, InterfaceError) as error:
        return "has no tables; run manage.py migrate" if is_schema_missing(error) else "none is live"
    return "ok" if is_live else "none is live"


class MetricsView(PublicView):
    """Returns Prometheus metrics to callers with GATEWAY_METRICS_TOKEN, and 404 to everyone else."""

    @extend_schema(exclude=True)
    def get(self, request: HttpRequest) -> HttpResponse:
        if not _can_read(request.META):
            raise NotFoundError("There is no endpoint at this address. See /api/v1/help.", reason="unknown_address")
        return HttpResponse(metrics.render_metrics(), content_type=metrics.CONTENT_TYPE)


def update_metrics() -> None:
    """Update the metrics of this process: its last poll and its pool of connections. The poller calls this."""
    if not poller.is_failing():
        metrics.LAST_POLL.set(poller.get_last_round())
    pool = getattr(connection, "pool", None)  # PostgreSQL only
    if pool is not None:
        stats = pool.get_stats()
        metrics.POOL_USED.set(stats.get("pool_size", 0) - stats.get("pool_available", 0))
        metrics.POOL_WAITING.set(stats.get("requests_waiting", 0))


def _can_read(meta: dict[str, str]) -> bool:
    """Return whether a request has the token. Without a configured token, allow this machine in local mode."""
    token = settings.GATEWAY_METRICS_TOKEN
    if token:
        scheme, _, sent = meta.get("HTTP_AUTHORIZATION", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(sent.strip().encode(), token.encode())
    return not settings.PRODUCTION and meta.get("REMOTE_ADDR") in LOOPBACK
