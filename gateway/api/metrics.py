"""/metrics for Prometheus, and the metrics that the background thread of each process updates."""

import hmac
import time

from django.conf import settings
from django.db import connection
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from analytics.events import event_log
from core import metrics
from core.background import poller
from gateway.api.base import PublicView
from gateway.contracts.errors import NotFoundError
from registry.catalog import cache

LOOPBACK = ("127.0.0.1", "::1")

_last_lost = 0
_last_release: str | None = None


class MetricsView(PublicView):
    """Returns Prometheus metrics to callers with GATEWAY_METRICS_TOKEN, and 404 to everyone else."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        if not _can_read(request.META):
            raise NotFoundError("There is no endpoint at this address. See /api/v1/help.", reason="unknown_address")
        return HttpResponse(metrics.render_metrics(), content_type=metrics.CONTENT_TYPE)


def update_gauges() -> None:
    """Update the metrics that change without a call: event buffer, live release, connection pool."""
    global _last_lost, _last_release
    lost = event_log.count_lost()
    metrics.EVENTS_LOST.inc(lost - _last_lost)
    _last_lost = lost
    metrics.EVENTS_BUFFERED.set(event_log.count_queued())
    if not poller.is_failing():
        metrics.LAST_POLL.set(time.time())
    version = cache.get_live_version()
    metrics.RELEASE_LIVE.set(version is not None)
    if version != _last_release:
        _last_release = version
        metrics.RELEASE_LOADED.set(time.time())
    _update_pool_metrics()


def _update_pool_metrics() -> None:
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
