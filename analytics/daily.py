"""Daily figures (OpDaily): aggregate them from events, and write them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from analytics.calls import CALL, HELP, SEARCH, UNKNOWN_NAME
from analytics.models import OpDaily, OperationEvent
from analytics.turns.counting import Mended

ERRORS_KEPT = 20  # field errors per row; limited, since callers choose the names in them

# The condition of the events that each figure counts.
COUNTS = {
    "calls": CALL,
    "invalid": CALL & Q(code="VALIDATION_ERROR"),
    "denied": CALL & Q(code="PERMISSION_DENIED"),
    "not_found": CALL & Q(code="NOT_FOUND"),
    "conflict": CALL & Q(code="CONFLICT"),
    "internal": CALL & Q(code="INTERNAL"),
    "unknown_names": UNKNOWN_NAME,
    "short_reads": HELP & Q(format=OperationEvent.Format.SHORT),
    "full_reads": HELP & Q(format=OperationEvent.Format.FULL),
    "arg_reads": HELP & Q(format=OperationEvent.Format.ARG),
    "list_reads": HELP & Q(tool_name=""),
    "searches": SEARCH,
    "misses": SEARCH & Q(result_count=0),
}
SUMS = (*COUNTS, "mended", "latency_ms")

KEY = ("day", "op", "release", "surface", "cohort", "model")  # identifies a row, together with is_settled
_UNDER = KEY[2:]

# Unknown names count under "": there would be a row for every name that callers make up.
_NAMED = Case(When(~Q(tool_name="") | HELP, then=F("op")), default=Value(""))
_INDEX = re.compile(r"/\d+(?=/|$)")

Key = tuple[Any, ...]


def counted(day: date, since: datetime, until: datetime, *, is_settled: bool) -> list[OpDaily]:
    """Return unsaved figures of a day, from its events with since <= time < until. They do not count repairs yet."""
    events = OperationEvent.objects.filter(time__gte=since, time__lt=until)
    named: QuerySet[Any, Any] = events.order_by().annotate(named=_NAMED)
    errors = _field_errors(named)
    counts = {name: Count("id", filter=condition) for name, condition in COUNTS.items()}
    found: Any = named.values("named", *_UNDER).annotate(
        **counts, latency=Coalesce(Sum("latency_ms", filter=CALL), Value(0.0))
    )
    return [
        OpDaily(
            day=day,
            op=row["named"],
            is_settled=is_settled,
            latency_ms=row["latency"],
            field_errors=_commonest(errors[tuple(row[name] for name in ("named", *_UNDER))]),
            **{name: row[name] for name in (*_UNDER, *COUNTS)},
        )
        for row in found
        if any(row[name] for name in COUNTS)
    ]


def with_mended(rows: Iterable[OpDaily], mended: Iterable[Mended], *, is_settled: bool) -> list[OpDaily]:
    """Return the rows with repairs added, each to the failed call's row. Missing rows are created, unsaved."""
    by_key = {key_of(row): row for row in rows}
    for failed, _ in mended:
        said = [getattr(failed, name) for name in _UNDER]
        key = (failed.time.astimezone(UTC).date(), failed.op if failed.tool_name else "", *said)
        row = by_key.setdefault(key, OpDaily(**dict(zip(KEY, key, strict=True)), is_settled=is_settled))
        row.mended += 1
    return list(by_key.values())


def add(rows: Iterable[OpDaily]) -> None:
    """Add figures to the settled rows in the database, creating those that are missing."""
    by_key = {key_of(row): row for row in rows}
    days = {row.day for row in by_key.values()}
    for known in OpDaily.objects.filter(day__in=days, is_settled=True):
        if row := by_key.get(key_of(known)):
            for name in SUMS:
                setattr(row, name, getattr(row, name) + getattr(known, name))
            row.field_errors = _commonest(_errors_of(row) + _errors_of(known))
    _write(by_key.values())


def replace(rows: list[OpDaily]) -> None:
    """Replace all unsettled rows with these. Rows with the same key keep their primary key, and so their URL."""
    keys = {key_of(row) for row in rows}
    known = OpDaily.objects.filter(is_settled=False).values_list("pk", *KEY)
    OpDaily.objects.filter(pk__in=[pk for pk, *key in known if tuple(key) not in keys]).delete()
    _write(rows)


def key_of(row: OpDaily) -> Key:
    """Return the key of a row: the values of KEY_FIELDS."""
    return tuple(getattr(row, name) for name in KEY)


def _field_errors(named: QuerySet[Any, Any]) -> defaultdict[Key, Counter[tuple[str, str]]]:
    """Return field error counts: {(op, release, surface, cohort, model): {(pointer, code): times}}."""
    found: defaultdict[Key, Counter[tuple[str, str]]] = defaultdict(Counter)
    failed = named.filter(CALL, ok=False).exclude(field_errors=[])
    alike = failed.values("named", *_UNDER, "field_errors").annotate(times=Count("id"))
    for *key, errors, times in alike.values_list("named", *_UNDER, "field_errors", "times"):
        # The same error in several items of a list counts once per call.
        for error in {(_INDEX.sub("/*", pointer), code) for pointer, code in errors}:
            found[tuple(key)][error] += times
    return found


def _write(rows: Iterable[OpDaily]) -> None:
    OpDaily.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=[*KEY, "is_settled"],
        update_fields=[*SUMS, "field_errors"],
    )


def _errors_of(row: OpDaily) -> Counter[tuple[str, str]]:
    return Counter({(pointer, code): times for pointer, code, times in row.field_errors})


def _commonest(errors: Counter[tuple[str, str]]) -> list[list[Any]]:
    most = sorted(errors.items(), key=lambda each: (-each[1], each[0]))[:ERRORS_KEPT]
    return [[pointer, code, times] for (pointer, code), times in most]
