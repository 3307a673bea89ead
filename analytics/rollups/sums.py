"""Sums of events, added to the rows of a model in SQL.

Events never leave the database for it, so a run costs the same few statements whatever the traffic is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from django.db import connection, models

from analytics.events.counted_events import TABLE, CountedRows
from audit.models import AuditEntry

# Changes of these kinds divide a day: before and after them, other users may have got other copy.
DIVIDING_KINDS = ("cohort", "experiment", "flag", "release")
DAY = timedelta(days=1)


def iter_periods(rows: CountedRows) -> Iterator[tuple[datetime, CountedRows]]:
    """Yield the parts of some counted events that belong to different periods: (begin of the period, its rows).

    A period is a UTC day, divided where the rollout changed.
    """
    first, last = _find_span(rows)
    while first is not None and last is not None:
        begin, end = find_period(first)
        yield begin, _restrict(rows, "time >= %s AND time < %s", begin, end)
        first, _ = _find_span(_restrict(rows, "time >= %s", end)) if last >= end else (None, None)


def _find_span(rows: CountedRows) -> tuple[datetime | None, datetime | None]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT min(time), max(time) FROM {TABLE} WHERE {rows.condition}", rows.parameters)  # noqa: S608 - ours
        first, last = map(_read_time, cursor.fetchone())
    return first, last


def _read_time(value: datetime | str | None) -> datetime | None:
    """Return a time as the database's driver returned it. SQLite has texts in UTC."""
    return datetime.fromisoformat(value).replace(tzinfo=UTC) if isinstance(value, str) else value


def _restrict(rows: CountedRows, condition: str, *times: datetime) -> CountedRows:
    adapted = [connection.ops.adapt_datetimefield_value(each) for each in times]
    return CountedRows(f"({rows.condition}) AND {condition}", (*rows.parameters, *adapted))


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
    field counts, and `events` that of those that count at all, in SQL on the table of counted events. The model's other
    sums are `repaired` and `latency_ms`.
    """

    model: type[models.Model]
    period: str
    dimensions: tuple[str, ...]
    conditions: Mapping[str, str]
    events: str = "TRUE"

    @property
    def key_fields(self) -> tuple[str, ...]:
        """The fields that identify a row, apart from `is_settled`."""
        return (self.period, "op", *self.dimensions)

    @property
    def sum_fields(self) -> tuple[str, ...]:
        return (*self.conditions, "repaired", "latency_ms")

    def delete_day(self, midnight: datetime) -> None:
        """Delete the rows of a day in UTC."""
        span = (self._get_period(midnight), self._get_period(midnight + DAY))
        self.model._default_manager.filter(**{f"{self.period}__gte": span[0], f"{self.period}__lt": span[1]}).delete()

    def _get_period(self, begin: datetime) -> date | datetime:
        return begin.date() if self.period == "day" else begin

    def add(self, begin: datetime, rows: CountedRows) -> None:
        """Add the sums of a period's events to the rows that exist, and insert the others. Only this job inserts rows.

        ON CONFLICT looks for each row twice, and costs about twice as much. Inserts are sorted, so that rows of one
        subject go to the same pages of the indexes.
        """
        sums = {name: f"count(*) FILTER (WHERE {condition})" for name, condition in self.conditions.items()}
        sums |= {"repaired": "sum(repaired)", "latency_ms": "coalesce(sum(latency_ms) FILTER (WHERE is_call), 0)"}
        fields = {each.name: each for each in self.model._meta.concrete_fields if not each.primary_key}
        groups = ["op", *self.dimensions]
        defaults = {name: each.get_default() for name, each in fields.items() if name not in (*groups, *sums)}
        fixed = defaults | {self.period: self._get_period(begin), "is_settled": True}
        prepared = {name: fields[name].get_db_prep_save(value, connection) for name, value in fixed.items()}
        quote = connection.ops.quote_name
        table, dimensions = quote(self.model._meta.db_table), ", ".join(map(quote, self.dimensions))
        # The name of a sum may also be that of a column: they are told apart until the outer select.
        figures = ", ".join(f"{figure} AS sum_{name}" for name, figure in sums.items())
        is_counted = " OR ".join(f"NOT sum_{name} = 0" for name in sums if name != "latency_ms")
        # A subquery, since a join may be planned without the index when the statistics lack the period.
        same_key = " AND ".join(f"t.{quote(name)} = s.{quote(name)}" for name in self.dimensions)
        same_row = f"t.{quote(self.period)} = %s AND t.is_settled = %s AND t.op = s.named AND {same_key}"
        with connection.cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE new_sums AS "  # noqa: S608 - the names are ours
                f"SELECT s.*, (SELECT t.id FROM {table} t WHERE {same_row}) AS row_id"
                f" FROM (SELECT named, {dimensions}, {figures} FROM {TABLE}"
                f" WHERE ({rows.condition}) AND {self.events} GROUP BY named, {dimensions}) s WHERE {is_counted}",
                [prepared[self.period], prepared["is_settled"], *rows.parameters],
            )
            added = ", ".join(
                f"{quote(name)} = {_limit(name, f'{table}.{quote(name)} + s.sum_{name}')}" for name in sums
            )
            cursor.execute(f"UPDATE {table} SET {added} FROM new_sums s WHERE {table}.id = s.row_id")  # noqa: S608
            columns = ", ".join(map(quote, [*prepared, *groups, *sums]))
            values = ", ".join(
                ["%s"] * len(prepared) + ["named", dimensions] + [_limit(name, f"sum_{name}") for name in sums]
            )
            cursor.execute(
                f"INSERT INTO {table} ({columns}) SELECT {values} FROM new_sums WHERE row_id IS NULL "  # noqa: S608
                f"ORDER BY {dimensions}",
                list(prepared.values()),
            )
            cursor.execute("DROP TABLE new_sums")


def _limit(name: str, value: str) -> str:
    """Return SQL that is never negative: a late event may take back a repair whose row was deleted meanwhile."""
    return f"CASE WHEN {value} < 0 THEN 0 ELSE {value} END" if name == "repaired" else value
