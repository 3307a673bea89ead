"""Counting operation events into daily figures (OpDaily), a periodic job.

What happened more than 15 minutes ago is settled: it is added once, and the mark of how far that got (Rollup) moves in
the same transaction. The minutes since are counted anew each time. So a run costs what these minutes hold, however
long the day, and pages never read events.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, F, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from analytics.models import OpDaily, OperationEvent, Rollup

NAME = "op_daily"
# An event has the time at which its call came, and is written when that has ended: after two minutes at most. One that
# comes later than this, by a clock that is wrong, stands in the log and not in the figures.
LATE = timedelta(minutes=15)
STEP = timedelta(hours=1)  # of what is settled at once: at a million events a day a tenth of a second
ERRORS_KEPT = 20  # field errors of a row: strangers choose the names in them

# Calls that were answered without trying: what they tell is about another call, a person or an admin.
PUT_OFF = ("confirmation_required", "in_progress", "switched_off")

_TRIED = Q(source=OperationEvent.Source.ADMIN)
_CALL = Q(type=OperationEvent.Type.EXEC, dry_run=False, replayed=False) & ~Q(reason__in=PUT_OFF) & ~_TRIED
_HELP = Q(type=OperationEvent.Type.HELP, ok=True)
_SEARCH = Q(type=OperationEvent.Type.SEARCH, ok=True)

# What each figure counts.
COUNTS = {
    "calls": _CALL,
    "invalid": _CALL & Q(code="VALIDATION_ERROR"),
    "denied": _CALL & Q(code="PERMISSION_DENIED"),
    "not_found": _CALL & Q(code="NOT_FOUND"),
    "conflict": _CALL & Q(code="CONFLICT"),
    "internal": _CALL & Q(code="INTERNAL"),
    "short_reads": _HELP & Q(format=OperationEvent.Format.SHORT),
    "full_reads": _HELP & Q(format=OperationEvent.Format.FULL),
    "arg_reads": _HELP & Q(format=OperationEvent.Format.ARG),
    "list_reads": _HELP & Q(tool_name=""),
    "searches": _SEARCH,
    "misses": _SEARCH & Q(result_count=0),
}
_SUMS = (*COUNTS, "latency_ms")

# What the caller wrote where nothing has that name is no op: there would be as many as callers can think of.
_NAMED = Case(When(~Q(tool_name="") | _HELP, then=F("op")), default=Value(""))
_INDEX = re.compile(r"/\d+(?=/|$)")


def run(at: datetime) -> bool:
    """Count what happened since the last run. Returns whether there is more that can be settled.

    Of several processes that count at the same time, one writes what it found.
    """
    mark = _mark(at)
    until, settled = _to_settle(mark.settled_until, at)
    more = until < at - LATE
    unsettled = [] if more else [row for day, since in _days(until, at) for row in _counted(day, since)]
    with transaction.atomic():
        unmoved = Rollup.objects.filter(pk=mark.pk, settled_until=mark.settled_until, counted_at=mark.counted_at)
        if not unmoved.update(settled_until=until, counted_at=at):
            return False
        _add(settled)
        _replace(unsettled)
    return more


def _mark(at: datetime) -> Rollup:
    """Return how far figures got; where they are to begin, at the first event."""
    if mark := Rollup.objects.filter(name=NAME).first():
        return mark
    since = _first_event(Q()) or at - LATE
    Rollup.objects.bulk_create([Rollup(name=NAME, settled_until=since, counted_at=at)], ignore_conflicts=True)
    return Rollup.objects.get(name=NAME)


def _to_settle(since: datetime, at: datetime) -> tuple[datetime, list[OpDaily]]:
    """Return until when events are settled next, at most an hour of one day of them, and what they count to."""
    limit = max(since, at - LATE)
    first = _first_event(Q(time__gte=since, time__lt=limit))
    if first is None:
        return limit, []
    until = min(first.replace(minute=0, second=0, microsecond=0) + STEP, limit)
    return until, _counted(first.date(), first, until, is_settled=True)


def _first_event(which: Q) -> datetime | None:
    return OperationEvent.objects.filter(which).order_by("time", "id").values_list("time", flat=True).first()


def _days(since: datetime, at: datetime) -> Iterator[tuple[date, datetime]]:
    """Yield each day from one time to another, and from when on it is meant."""
    day = since.date()
    while day <= at.date():
        yield day, max(since, _midnight(day))
        day += timedelta(days=1)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _counted(day: date, since: datetime, until: datetime | None = None, *, is_settled: bool = False) -> list[OpDaily]:
    """Return what the events of a day count to, from one time on and before another."""
    events = OperationEvent.objects.filter(time__gte=since, time__lt=until or _midnight(day + timedelta(days=1)))
    named: QuerySet[Any, Any] = events.order_by().annotate(named=_NAMED)
    errors = _field_errors(named)
    counts = {name: Count("id", filter=condition) for name, condition in COUNTS.items()}
    found: Any = named.values("named", "release").annotate(
        **counts, latency=Coalesce(Sum("latency_ms", filter=_CALL), Value(0.0))
    )
    return [
        OpDaily(
            day=day,
            op=row["named"],
            release=row["release"],
            is_settled=is_settled,
            latency_ms=row["latency"],
            field_errors=_commonest(errors[row["named"], row["release"]]),
            **{name: row[name] for name in COUNTS},
        )
        for row in found
        if any(row[name] for name in COUNTS)
    ]


def _field_errors(named: QuerySet[Any, Any]) -> defaultdict[tuple[str, str], Counter[tuple[str, str]]]:
    """Return how often each argument of an op failed, and how: {(op, release): {(pointer, code): times}}."""
    found: defaultdict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    failed = named.filter(_CALL, ok=False).exclude(field_errors=[])
    alike = failed.values("named", "release", "field_errors").annotate(times=Count("id"))
    for op, release, errors, times in alike.values_list("named", "release", "field_errors", "times"):
        # An error that a call has in several places is one that its caller made once.
        for error in {(_INDEX.sub("/*", pointer), code) for pointer, code in errors}:
            found[op, release][error] += times
    return found


def _add(rows: Iterable[OpDaily]) -> None:
    """Add what was counted to the settled rows, making those that are not there."""
    by_key = {(row.op, row.release): row for row in rows}
    days = {row.day for row in by_key.values()}
    for known in OpDaily.objects.filter(day__in=days, is_settled=True):
        if row := by_key.get((known.op, known.release)):
            for name in _SUMS:
                setattr(row, name, getattr(row, name) + getattr(known, name))
            row.field_errors = _commonest(_errors_of(row) + _errors_of(known))
    _write(by_key.values())


def _replace(rows: list[OpDaily]) -> None:
    """Have these unsettled rows and no others; one that was there keeps its address."""
    keys = {(row.day, row.op, row.release) for row in rows}
    known = OpDaily.objects.filter(is_settled=False).values_list("pk", "day", "op", "release")
    OpDaily.objects.filter(pk__in=[pk for pk, *key in known if tuple(key) not in keys]).delete()
    _write(rows)


def _write(rows: Iterable[OpDaily]) -> None:
    OpDaily.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["day", "op", "release", "is_settled"],
        update_fields=[*_SUMS, "field_errors"],
    )


def _errors_of(row: OpDaily) -> Counter[tuple[str, str]]:
    return Counter({(pointer, code): times for pointer, code, times in row.field_errors})


def _commonest(errors: Counter[tuple[str, str]]) -> list[list[Any]]:
    most = sorted(errors.items(), key=lambda each: (-each[1], each[0]))[:ERRORS_KEPT]
    return [[pointer, code, times] for (pointer, code), times in most]
