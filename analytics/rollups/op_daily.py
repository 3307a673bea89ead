"""Daily figures (OpDaily): aggregate them from events, and write them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from analytics.events.event_filters import CALL, FAILED_CALL, HELP_READ, MISS, SEARCH, UNKNOWN_NAME
from analytics.events.models import OperationEvent
from analytics.rollups.models import OpDaily
from analytics.turns.aggregation import Repair

MAX_FIELD_ERRORS = 20  # field errors per row; limited, since callers choose the names in them

# The condition of the events that each figure counts.
COUNT_CONDITIONS = {
    "calls": CALL,
    "invalid": CALL & Q(code="VALIDATION_ERROR"),
    "denied": CALL & Q(code="PERMISSION_DENIED"),
    "not_found": CALL & Q(code="NOT_FOUND"),
    "conflict": CALL & Q(code="CONFLICT"),
    "internal": CALL & Q(code="INTERNAL"),
    "unknown_names": UNKNOWN_NAME,
    "short_reads": HELP_READ & Q(format=OperationEvent.Format.SHORT),
    "full_reads": HELP_READ & Q(format=OperationEvent.Format.FULL),
    "arg_reads": HELP_READ & Q(format=OperationEvent.Format.ARG),
    "list_reads": HELP_READ & Q(tool_name=""),
    "searches": SEARCH,
    "misses": MISS,
}
SUM_FIELDS = (*COUNT_CONDITIONS, "repaired", "latency_ms")

# They identify a row, together with is_settled.
KEY_FIELDS = ("day", "op", "release", "surface", "cohort", "model", "client")
_DIMENSIONS = KEY_FIELDS[2:]

# Unknown names count under "": there would be a row for every name that callers make up.
_KNOWN_NAME = Case(When(~Q(tool_name="") | HELP_READ, then=F("op")), default=Value(""))
_LIST_INDEX = re.compile(r"/\d+(?=/|$)")

FigureKey = tuple[Any, ...]


def count_day(day: date, since: datetime, until: datetime, *, is_settled: bool) -> list[OpDaily]:
    """Return unsaved figures of a day, from its events with since <= time < until. They do not count repairs yet."""
    events = OperationEvent.objects.filter(time__gte=since, time__lt=until)
    named_events: QuerySet[Any, Any] = events.order_by().annotate(named=_KNOWN_NAME)
    errors = _count_field_errors(named_events)
    counts = {name: Count("id", filter=condition) for name, condition in COUNT_CONDITIONS.items()}
    groups: Any = named_events.values("named", *_DIMENSIONS).annotate(
        **counts, latency=Coalesce(Sum("latency_ms", filter=CALL), Value(0.0))
    )
    return [
        OpDaily(
            day=day,
            op=row["named"],
            is_settled=is_settled,
            latency_ms=row["latency"],
            field_errors=_keep_most_common(errors[tuple(row[name] for name in ("named", *_DIMENSIONS))]),
            **{name: row[name] for name in (*_DIMENSIONS, *COUNT_CONDITIONS)},
        )
        for row in groups
        if any(row[name] for name in COUNT_CONDITIONS)
    ]


def add_repairs(rows: Iterable[OpDaily], repairs: Iterable[Repair], *, is_settled: bool) -> list[OpDaily]:
    """Return the rows with repairs added, each to the failed call's row. Missing rows are created, unsaved."""
    by_key = {get_key(row): row for row in rows}
    for failed, _ in repairs:
        dimensions = [getattr(failed, name) for name in _DIMENSIONS]
        key = (failed.time.astimezone(UTC).date(), failed.op if failed.tool_name else "", *dimensions)
        row = by_key.setdefault(key, OpDaily(**dict(zip(KEY_FIELDS, key, strict=True)), is_settled=is_settled))
        row.repaired += 1
    return list(by_key.values())


def add_settled(rows: Iterable[OpDaily]) -> None:
    """Add figures to the settled rows in the database, creating those that are missing."""
    by_key = {get_key(row): row for row in rows}
    days = {row.day for row in by_key.values()}
    for stored in OpDaily.objects.filter(day__in=days, is_settled=True):
        if row := by_key.get(get_key(stored)):
            for name in SUM_FIELDS:
                setattr(row, name, getattr(row, name) + getattr(stored, name))
            row.field_errors = _keep_most_common(_read_field_errors(row) + _read_field_errors(stored))
    _upsert(by_key.values())


def replace_unsettled(rows: list[OpDaily]) -> None:
    """Replace all unsettled rows with these. Rows with the same key keep their primary key, and so their URL."""
    keys = {get_key(row) for row in rows}
    stored = OpDaily.objects.filter(is_settled=False).values_list("pk", *KEY_FIELDS)
    OpDaily.objects.filter(pk__in=[pk for pk, *key in stored if tuple(key) not in keys]).delete()
    _upsert(rows)


def get_key(row: OpDaily) -> FigureKey:
    """Return the key of a row: the values of KEY_FIELDS."""
    return tuple(getattr(row, name) for name in KEY_FIELDS)


def _count_field_errors(named_events: QuerySet[Any, Any]) -> defaultdict[FigureKey, Counter[tuple[str, str]]]:
    """Return field error counts: {(op, release, surface, cohort, model, client): {(pointer, code): times}}."""
    counts: defaultdict[FigureKey, Counter[tuple[str, str]]] = defaultdict(Counter)
    failed = named_events.filter(FAILED_CALL).exclude(field_errors=[])
    groups = failed.values("named", *_DIMENSIONS, "field_errors").annotate(times=Count("id"))
    for *key, errors, times in groups.values_list("named", *_DIMENSIONS, "field_errors", "times"):
        # The same error in several items of a list counts once per call.
        for error in {(_LIST_INDEX.sub("/*", pointer), code) for pointer, code in errors}:
            counts[tuple(key)][error] += times
    return counts


def _upsert(rows: Iterable[OpDaily]) -> None:
    OpDaily.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=[*KEY_FIELDS, "is_settled"],
        update_fields=[*SUM_FIELDS, "field_errors"],
    )


def _read_field_errors(row: OpDaily) -> Counter[tuple[str, str]]:
    return Counter({(pointer, code): times for pointer, code, times in row.field_errors})


def _keep_most_common(errors: Counter[tuple[str, str]]) -> list[list[Any]]:
    most_common = sorted(errors.items(), key=lambda each: (-each[1], each[0]))[:MAX_FIELD_ERRORS]
    return [[pointer, code, times] for (pointer, code), times in most_common]
