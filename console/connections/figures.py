"""How recent calls through a connection went, and the list of their events."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import quantiles
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber
from django.http import HttpRequest
from django.urls import reverse

from analytics.events.event_filters import BY_MODEL
from analytics.events.models import OperationEvent
from registry.models import REMOTE_KINDS, Connection, Op

PERIOD = timedelta(hours=24)
MAX_CALLS = 1_000  # the latest ones; more would not change the figures
MAX_REASONS = 5
THROUGH_PARAMETER = "through"  # query parameter of the list of events

# Reasons of the errors of an executor, besides those that begin with upstream_. A call that was refused before it,
# because of its args or a missing permission, says nothing about the service.
EXECUTOR_REASONS = tuple(
    """
    address_refused bad_outgoing_request bad_url key_required not_configured outcome_unknown sign_in_required timeout
""".split()
)
REACHED_EXECUTOR = Q(ok=True) | Q(reason__startswith="upstream_") | Q(reason__in=EXECUTOR_REASONS)
SENT_CALL = BY_MODEL & REACHED_EXECUTOR & Q(type=OperationEvent.Type.EXEC, dry_run=False, replayed=False)


@dataclass(frozen=True, slots=True)
class ErrorCount:
    """How many calls failed for a reason, and the address of their list."""

    reason: str
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class ConnectionFigures:
    """Figures of the latest calls of a day, of at most MAX_CALLS.

    `percentiles` are the 50th, 95th and 99th of the latency in ms.

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
    """Return the figures of the calls that reached the executor. Only the model's calls count, and no replays."""
    return list_figures([connection], at=at)[connection.pk]


def list_figures(connections: Sequence[Connection], *, at: datetime) -> dict[int, ConnectionFigures]:
    """Return the figures of several connections, by primary key. One query."""
    since = at - PERIOD
    through = Op.objects.filter(op=OuterRef("op"), connection__in=[each.pk for each in connections])
    latest = Window(RowNumber(), partition_by=F("connection"), order_by=F("time").desc())
    rows = (
        OperationEvent.objects.filter(SENT_CALL, time__gte=since)
        .annotate(connection=Subquery(through.values("connection")[:1]))
        .filter(connection__isnull=False)
        .annotate(age=latest)
        .filter(age__lte=MAX_CALLS)
        .order_by()
    )
    calls: dict[int, list[_Call]] = {each.pk: [] for each in connections}
    values: Any = rows.values("connection", *_Call._fields)
    for row in values:
        calls[row.pop("connection")].append(_Call(**row))
    return {each.pk: _summarise_calls(each, calls[each.pk], since) for each in connections}


class _Call(NamedTuple):
    ok: bool
    code: str
    reason: str
    latency_ms: float


def _summarise_calls(connection: Connection, calls: Sequence[_Call], since: datetime) -> ConnectionFigures:
    failures = Counter((call.reason, call.code) for call in calls if not call.ok)
    return ConnectionFigures(
        calls=len(calls),
        failed=failures.total(),
        calls_url=_build_events_url(connection, since),
        failed_url=_build_events_url(connection, since, ok__exact="0"),
        percentiles=_compute_percentiles([call.latency_ms for call in calls]),
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
