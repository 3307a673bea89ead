"""Sums of each subject's calls (SubjectFigures), written by one statement a period: INSERT … SELECT … GROUP BY.

Events never leave the database for it, so a run costs the same few statements whatever the traffic is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any

from django.db import connection
from django.db.models import Case, Count, F, Q, Sum, Value, When
from django.db.models.functions import Coalesce

from analytics.events.event_filters import CALL, FAILED_CALL, HELP_READ, MISS, SEARCH, UNKNOWN_NAME
from analytics.events.models import OperationEvent
from analytics.rollups.models import SubjectFigures
from analytics.turns.aggregation import Repair
from audit.models import AuditEntry

# Changes of these kinds divide a day: before and after them, other users may have got other copy.
DIVIDING_KINDS = ("cohort", "experiment", "flag", "release")
DAY = timedelta(days=1)
COUNT_CONDITIONS = {
    "calls": CALL,
    "failed": FAILED_CALL,
    "invalid": CALL & Q(code="VALIDATION_ERROR"),
    "unknown_names": UNKNOWN_NAME,
    "helps": HELP_READ,
    "searches": SEARCH,
    "misses": MISS,
}
SUM_FIELDS = (*COUNT_CONDITIONS, "repaired", "latency_ms")
_DIMENSIONS = ("subject", "release", "surface", "cohort", "model", "client")
KEY_FIELDS = ("begin", "op", *_DIMENSIONS, "is_settled")
# Unknown names count under "": there would be a row for every name that callers make up.
_KNOWN_NAME = Case(When(~Q(tool_name="") | HELP_READ, then=F("op")), default=Value(""))


def add_settled(since: datetime, until: datetime) -> None:
    """Add the sums of the events with since <= time < until."""
    _insert_sums(since, until, is_settled=True)


def replace_unsettled(since: datetime, until: datetime) -> None:
    """Replace all unsettled sums with those of the events with since <= time < until."""
    SubjectFigures.objects.filter(is_settled=False).delete()
    _insert_sums(since, until, is_settled=False)


def add_repairs(repairs: Iterable[Repair], *, is_settled: bool) -> None:
    """Add repairs to the failed call's sums, on its day."""
    failed_calls = [repair.failed for repair in repairs if repair.failed.subject]
    if not failed_calls:
        return
    times = [call.time for call in failed_calls]
    periods = list(iter_periods(min(times), max(times) + timedelta(microseconds=1)))
    counts = Counter(
        (
            next(begin for begin, _, until in periods if call.time < until),
            call.op if call.tool_name else "",
            *(getattr(call, name) for name in _DIMENSIONS),
        )
        for call in failed_calls
    )
    rows = [
        SubjectFigures(**dict(zip(KEY_FIELDS, (*key, is_settled), strict=True)), repaired=times)
        for key, times in counts.items()
    ]
    _add_rows(rows)


def iter_periods(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime, datetime]]:
    """Yield the parts of a span that belong to different periods: (begin of the period, start of the part, its end)."""
    if since >= until:
        return
    midnight = datetime.combine(since.astimezone(UTC).date(), time(), UTC)
    changes = AuditEntry.objects.filter(kind__in=DIVIDING_KINDS, time__gte=midnight, time__lt=until)
    cuts = set(changes.values_list("time", flat=True))
    while midnight < until:
        cuts.add(midnight)
        midnight += DAY
    begins = sorted(cuts)
    for begin, end in zip(begins, [*begins[1:], until], strict=True):
        if end > since:
            yield begin, max(begin, since), end


def _insert_sums(since: datetime, until: datetime, *, is_settled: bool) -> None:
    for begin, start, end in iter_periods(since, until):
        _insert_period(begin, start, end, is_settled=is_settled)


def _insert_period(begin: datetime, since: datetime, until: datetime, *, is_settled: bool) -> None:
    events = OperationEvent.objects.filter(time__gte=since, time__lt=until).exclude(subject="").order_by()
    counts: dict[str, Any] = {name: Count("id", filter=condition) for name, condition in COUNT_CONDITIONS.items()}
    counts["latency_ms"] = Coalesce(Sum("latency_ms", filter=CALL), Value(0.0))
    named: Any = events.annotate(named=_KNOWN_NAME).values("named", *_DIMENSIONS)
    # The name of a sum is also that of a column: they are told apart until the outer select.
    sums = named.annotate(**{f"sum_{name}": count for name, count in counts.items()})
    sums = sums.filter(Q(*[Q(**{f"sum_{name}__gt": 0}) for name in COUNT_CONDITIONS], _connector=Q.OR))
    query, parameters = sums.query.sql_with_params()
    quote = connection.ops.quote_name
    table = quote(SubjectFigures._meta.db_table)
    fields = ["op", *_DIMENSIONS, *counts]
    chosen = ", ".join(
        ["s.named", *(f"s.{quote(name)}" for name in _DIMENSIONS), *(f"s.sum_{name}" for name in counts)]
    )
    columns = ", ".join(quote(name) for name in ["begin", "is_settled", "repaired", *fields])
    keys = ", ".join(quote(name) for name in KEY_FIELDS)
    added = ", ".join(f"{quote(name)} = {table}.{quote(name)} + excluded.{quote(name)}" for name in SUM_FIELDS)
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({columns}) SELECT %s, %s, 0, {chosen} FROM ({query}) s WHERE true "  # noqa: S608
            f"ON CONFLICT ({keys}) DO UPDATE SET {added}",
            [adapt(begin), is_settled, *parameters],
        )


def _add_rows(rows: list[SubjectFigures]) -> None:
    stored = {
        tuple(getattr(row, name) for name in KEY_FIELDS): row
        for row in SubjectFigures.objects.filter(
            begin__in={row.begin for row in rows}, subject__in={row.subject for row in rows}
        )
    }
    for row in rows:
        if found := stored.get(tuple(getattr(row, name) for name in KEY_FIELDS)):
            for name in SUM_FIELDS:
                setattr(row, name, getattr(row, name) + getattr(found, name))
    SubjectFigures.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=list(KEY_FIELDS), update_fields=list(SUM_FIELDS)
    )
