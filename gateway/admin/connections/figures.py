"""How the calls through a connection went lately."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import quantiles
from urllib.parse import urlencode

from django.urls import reverse

from analytics.models import OperationEvent
from registry.models import Connection

PERIOD = timedelta(hours=24)
MAX_CALLS = 1_000  # the latest ones; more would not change the figures
MAX_REASONS = 5


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many calls failed for a reason, and the list of failed calls with the code."""

    reason: str
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class ConnectionFigures:
    """Figures of the latest calls of a day. `percentiles` are the 50th, 95th and 99th of the latency in ms."""

    calls: int
    failed: int
    percentiles: tuple[float, float, float] | None
    errors: list[ErrorCount]


def get_figures(connection: Connection, *, at: datetime) -> ConnectionFigures:
    """Return the figures of the ops of a connection. Trials of admins do not count."""
    rows = OperationEvent.objects.filter(
        type=OperationEvent.Type.EXEC,
        op__in=list(connection.ops.values_list("op", flat=True)),
        time__gte=at - PERIOD,
        source__in=("api", "batch"),
        dry_run=False,
    ).order_by("-time")
    calls = list(rows.values_list("ok", "code", "reason", "latency_ms")[:MAX_CALLS])
    failures = Counter((reason or code, code) for ok, code, reason, _ in calls if not ok)
    errors = [
        ErrorCount(reason, count, _build_events_url(connection, code))
        for (reason, code), count in failures.most_common(MAX_REASONS)
    ]
    return ConnectionFigures(
        len(calls), failures.total(), _compute_percentiles([latency for *_, latency in calls]), errors
    )


def _compute_percentiles(latencies: list[float]) -> tuple[float, float, float] | None:
    if not latencies:
        return None
    if len(latencies) == 1:
        return latencies[0], latencies[0], latencies[0]
    cuts = quantiles(latencies, n=100, method="inclusive")
    return cuts[49], cuts[94], cuts[98]


def _build_events_url(connection: Connection, code: str) -> str:
    ops = list(connection.ops.values_list("op", flat=True)[:2])
    query = {"code__exact": code, "ok__exact": "0"} | ({"op__exact": ops[0]} if len(ops) == 1 else {})
    return f"{reverse('admin:analytics_operationevent_changelist')}?{urlencode(query)}"
