"""Sums of events, added to the rows of a model by one statement a period: INSERT … SELECT … GROUP BY … ON CONFLICT.

Events never leave the database for it, so a run costs the same few statements whatever the traffic is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection, models
from django.db.models import Count, F, Max, Min, Q, QuerySet

from analytics.events.event_filters import CALL, HELP_READ, SEARCH, UNKNOWN_NAME
from analytics.events.models import OperationEvent
from audit.models import AuditEntry

# Changes of these kinds divide a day: before and after them, other users may have got other copy.
DIVIDING_KINDS = ("cohort", "experiment", "flag", "release")
DAY = timedelta(days=1)
FLAGS = {"is_call": CALL, "is_help": HELP_READ, "is_search": SEARCH, "is_unknown_name": UNKNOWN_NAME}
# Unknown names count under "": there would be a row for every name that callers make up.
_KNOWN_NAME = "CASE WHEN is_help OR NOT tool_name = '' THEN op ELSE '' END"
_FIELDS = ("op", "tool_name", "code", "ok", "format", "result_count", "latency_ms")
_ALL = 1_000_000_000  # a limit keeps databases from computing a flag again for each sum that uses it

Events = QuerySet[OperationEvent]


def iter_periods(events: Events) -> Iterator[tuple[datetime, Events]]:
    """Yield the parts of some events that belong to different periods: (begin of the period, its events).

    A period is a UTC day, divided where the rollout changed.
    """
    # With the count, PostgreSQL does not look for the first and last of them in the index of all times.
    span = events.aggregate(Count("pk"), first=Min("time"), last=Max("time"))
    first, last = span["first"], span["last"]
    while first is not None:
        begin, end = find_period(first)
        yield begin, events.filter(time__gte=begin, time__lt=end)
        later = events.filter(time__gte=end)
        first = later.aggregate(Count("pk"), first=Min("time"))["first"] if last >= end else None


def find_period(at: datetime) -> tuple[datetime, datetime]:
    """Return the begin and the end of the period that a time belongs to."""
    midnight = datetime.combine(at.astimezone(UTC).date(), time(), UTC)
    changes = AuditEntry.objects.filter(kind__in=DIVIDING_KINDS, time__gt=midnight, time__lt=midnight + DAY)
    cuts = [midnight, *changes.order_by("time").values_list("time", flat=True), midnight + DAY]
    return max(cut for cut in cuts if cut <= at), min(cut for cut in cuts if cut > at)


@dataclass(frozen=True, slots=True)
class EventSums:
    """The sums that the rows of a model keep, for each period, op and value of the dimensions.

    `period` is the field that has the begin of the period, or its day. `conditions` are those of the events that each
    field counts, in SQL with FLAGS; the model's other sums are `repaired` and `latency_ms`.
    """

    model: type[models.Model]
    period: str
    dimensions: tuple[str, ...]
    conditions: Mapping[str, str]
    events: Q = field(default_factory=Q)  # those that count at all

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that identify a row, apart from `is_settled`."""
        return (self.period, "op", *self.dimensions)

    @property
    def sum_fields(self) -> tuple[str, ...]:
        return (*self.conditions, "repaired", "latency_ms")

    def add_events(self, begin: datetime, events: Events) -> None:
        """Add the events of a period."""
        sums = {name: f"count(*) FILTER (WHERE {condition})" for name, condition in self.conditions.items()}
        self._add(begin, events, sums | {"latency_ms": "coalesce(sum(latency_ms) FILTER (WHERE is_call), 0)"})

    def add_repairs(self, begin: datetime, failed_calls: Events) -> None:
        """Add repairs of failed calls of a period."""
        self._add(begin, failed_calls, {"repaired": "count(*)"})

    def subtract_repairs(self, begin: datetime, failed_calls: Events) -> None:
        """Subtract repairs of failed calls of a period. There are few: an event came late."""
        for op, tool_name, *values in failed_calls.values_list("op", "tool_name", *self.dimensions):
            key = (self._get_period(begin), op if tool_name else "", *values)
            row = dict(zip(self.key_fields, key, strict=True))
            self.model._default_manager.filter(**row, repaired__gt=0).update(repaired=F("repaired") - 1)

    def delete_day(self, midnight: datetime) -> None:
        """Delete the rows of a day in UTC."""
        span = (self._get_period(midnight), self._get_period(midnight + DAY))
        self.model._default_manager.filter(**{f"{self.period}__gte": span[0], f"{self.period}__lt": span[1]}).delete()

    def _get_period(self, begin: datetime) -> date | datetime:
        return begin.date() if self.period == "day" else begin

    def _add(self, begin: datetime, events: Events, sums: Mapping[str, str]) -> None:
        flagged: Any = events.filter(self.events).order_by().annotate(**FLAGS)
        query, parameters = flagged.values(*self.dimensions, *_FIELDS, *FLAGS)[:_ALL].query.sql_with_params()
        fields = {each.name: each for each in self.model._meta.concrete_fields if not each.primary_key}
        groups = ["op", *self.dimensions]
        fixed = {name: each.get_default() for name, each in fields.items() if name not in (*groups, *sums)}
        fixed |= {self.period: self._get_period(begin), "is_settled": True}
        quote = connection.ops.quote_name
        table, dimensions = quote(self.model._meta.db_table), ", ".join(map(quote, self.dimensions))
        columns = ", ".join(map(quote, [*fixed, *groups, *sums]))
        # The name of a sum may also be that of a column: they are told apart until the outer select.
        figures = ", ".join(f"{figure} AS sum_{name}" for name, figure in sums.items())
        values = ", ".join(["%s"] * len(fixed) + ["named", dimensions] + [f"sum_{name}" for name in sums])
        is_counted = " OR ".join(f"sum_{name} > 0" for name in sums if name != "latency_ms")
        keys = ", ".join(map(quote, [*self.key_fields, "is_settled"]))
        added = ", ".join(f"{quote(name)} = {table}.{quote(name)} + excluded.{quote(name)}" for name in sums)
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} ({columns}) SELECT {values} FROM ("  # noqa: S608 - the names are ours
                f"SELECT {_KNOWN_NAME} AS named, {dimensions}, {figures} FROM ({query}) e GROUP BY named, {dimensions}"
                f") s WHERE {is_counted} ON CONFLICT ({keys}) DO UPDATE SET {added}",
                [*(fields[name].get_db_prep_save(value, connection) for name, value in fixed.items()), *parameters],
            )
