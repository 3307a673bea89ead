"""How recent calls through a connection went, and the list of their events."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import quantiles
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from analytics.events.event_filters import NOT_TRIED_IN_ADMIN
from analytics.events.models import OperationEvent
from registry.models import REMOTE_KINDS, Connection

PERIOD = timedelta(hours=24)
MAX_CALLS = 1_000  # the latest ones; more would not change the figures
MAX_REASONS = 5
THROUGH_PARAMETER = "through"  # query parameter of the list of events

# Reasons of the errors of an executor, besides those that begin with upstream_. A call that was refused before it,
# because of its args or a missing permission, says nothing about the service.
EXECUTOR_REASONS = tuple(
    """
    address_refused bad_outgoing_request bad_url not_configured outcome_unknown sign_in_required timeout
""".split()
)
REACHED_EXECUTOR = Q(ok=True) | Q(reason__startswith="upstream_") | Q(reason__in=EXECUTOR_REASONS)
SENT_CALL = NOT_TRIED_IN_ADMIN & REACHED_EXECUTOR & Q(type=OperationEvent.Type.EXEC, dry_run=False, replayed=False)


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many calls failed for a reason, and the address of their list."""

    reason: str
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class ConnectionFigures:
    """Figures of the latest calls of a day. `percentiles` are the 50th, 95th and 99th of the latency in ms.

    The addresses are of the lists of all calls and of failed calls.
    """

    calls: int
    failed: int
    calls_url: str
    failed_url: str
    percentiles: tuple[float, float, float] | None
    errors: list[ErrorCount]


class ThroughConnectionFilter(admin.SimpleListFilter):
    """Filter for the calls that reached the executor of a connection, as the page of the connection counts them."""

    title, parameter_name = "connection", THROUGH_PARAMETER

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        names = Connection.objects.filter(kind__in=REMOTE_KINDS).order_by("name").values_list("name", flat=True)
        return [(name, name) for name in names]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if (name := self.value()) is None:
            return queryset
        connection = Connection.objects.filter(name=name).first()
        if connection is None:
            raise IncorrectLookupParameters
        return queryset.filter(_build_condition(connection))


def get_figures(connection: Connection, *, at: datetime) -> ConnectionFigures:
    """Return the figures of the calls that reached the executor. Trials of admins and replays do not count."""
    since = at - PERIOD
    rows = OperationEvent.objects.filter(_build_condition(connection), time__gte=since).order_by("-time")
    calls = list(rows.values_list("ok", "code", "reason", "latency_ms")[:MAX_CALLS])
    failures = Counter((reason, code) for ok, code, reason, _ in calls if not ok)
    return ConnectionFigures(
        calls=len(calls),
        failed=failures.total(),
        calls_url=_build_events_url(connection, since),
        failed_url=_build_events_url(connection, since, ok__exact="0"),
        percentiles=_compute_percentiles([latency for *_, latency in calls]),
        errors=[
            ErrorCount(reason, count, _build_events_url(connection, since, code__exact=code, reason__exact=reason))
            for (reason, code), count in failures.most_common(MAX_REASONS)
        ],
    )


def _build_condition(connection: Connection) -> Q:
    return SENT_CALL & Q(op__in=list(connection.ops.values_list("op", flat=True)))


def _compute_percentiles(latencies: list[float]) -> tuple[float, float, float] | None:
    if not latencies:
        return None
    if len(latencies) == 1:
        return latencies[0], latencies[0], latencies[0]
    cuts = quantiles(latencies, n=100, method="inclusive")
    return cuts[49], cuts[94], cuts[98]


def _build_events_url(connection: Connection, since: datetime, **lookups: str) -> str:
    query = {THROUGH_PARAMETER: connection.name, "time__gte": since.isoformat(), **lookups}
    return f"{reverse('admin:analytics_operationevent_changelist')}?{urlencode(query)}"
