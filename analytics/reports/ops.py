"""Figures of ops over the last seven days: calls, failures, help reads, and the most frequent errors."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Min, OuterRef, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf

from analytics.models import OpDaily

DAYS = 7  # today, which is incomplete, and the days before
FAILURES = ("invalid", "denied", "not_found", "conflict", "internal")
FAILED: Combinable = sum((Sum(name) for name in FAILURES[1:]), start=Sum(FAILURES[0]))
READS = ("short_reads", "full_reads", "arg_reads", "list_reads")

# An op is listed as failing from these on. A rate of fewer calls says little, and failures of 1 in 20 are tolerated.
LEAST_CALLS = 10
LEAST_RATE = 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of an op or a group. `calls` includes the failed ones."""

    calls: int = 0
    invalid: int = 0
    denied: int = 0
    not_found: int = 0
    conflict: int = 0
    internal: int = 0
    mended: int = 0  # failed calls that a later call in the same turn repaired
    latency_ms: float = 0.0  # sum over all calls
    short_reads: int = 0
    full_reads: int = 0
    arg_reads: int = 0
    list_reads: int = 0

    @property
    def failed(self) -> int:
        return self.invalid + self.denied + self.not_found + self.conflict + self.internal

    @property
    def failure_rate(self) -> float | None:
        """Failed calls as a share of calls, 0 to 1; None without calls."""
        return self.failed / self.calls if self.calls else None

    @property
    def repair_rate(self) -> float | None:
        """Repaired calls as a share of failed calls, 0 to 1; None without failures."""
        return self.mended / self.failed if self.failed else None

    @property
    def mean_latency_ms(self) -> float | None:
        """Average latency of a call in milliseconds; None without calls."""
        return self.latency_ms / self.calls if self.calls else None

    @property
    def commonest_failure(self) -> str | None:
        """The most frequent of FAILURE_FIELDS; None without failures."""
        return max(FAILURES, key=lambda name: int(getattr(self, name))) if self.failed else None


@dataclass(frozen=True, slots=True)
class Failing:
    """An op whose calls fail often, and its most frequent field error as (pointer, code)."""

    op: str
    figures: Figures
    error: tuple[str, str] | None  # None if no field errors were recorded


@dataclass(frozen=True, slots=True)
class Reads:
    """Average reads per day of an op's or a group's help, by format."""

    short: float
    full: float
    arg: float
    listed: float


_FIELDS = (*("calls", "mended", "latency_ms"), *FAILURES, *READS)


def last_days(at: datetime) -> QuerySet[OpDaily]:
    """Return the daily figures of the last seven days."""
    return OpDaily.objects.filter(day__gt=_today(at) - timedelta(days=DAYS), day__lte=_today(at))


def of_op(op: str, *, at: datetime) -> Figures:
    """Return the figures of one op or group over the last seven days."""
    sums = last_days(at).filter(op=op).aggregate(**{name: Sum(name, default=0) for name in _FIELDS})
    return Figures(**sums)


def of_each(rows: QuerySet[OpDaily]) -> dict[str, Figures]:
    """Return the figures of each op and group by name. "" stands for searches and unknown names."""
    sums: Any = rows.values("op").annotate(**{name: Sum(name) for name in _FIELDS}).order_by("op")
    return {row.pop("op"): Figures(**row) for row in sums}


def failing(*, at: datetime, limit: int = 5) -> list[Failing]:
    """Return the ops that failed often in the last seven days, most failures first."""
    found = {op: each for op, each in of_each(last_days(at)).items() if op and each.calls >= LEAST_CALLS}
    worst = sorted(found, key=lambda op: -found[op].failed)
    told = [op for op in worst if (found[op].failure_rate or 0) >= LEAST_RATE][:limit]
    errors = commonest_errors(last_days(at).filter(op__in=told))
    return [Failing(op, found[op], errors.get(op)) for op in told]


def calls(*, at: datetime) -> int:
    """Return the number of calls in the last seven days."""
    found: int = last_days(at).aggregate(calls=Sum("calls", default=0))["calls"]
    return found


def calls_of(op: OuterRef, *, at: datetime) -> Combinable:
    """Return a subquery for an op's calls in the last seven days; 0 without calls."""
    return Coalesce(_of_each(op, Sum("calls"), at), 0)


def failure_rate_of(op: OuterRef, *, at: datetime) -> Combinable:
    """Return a subquery for an op's failure rate in the last seven days; NULL without calls."""
    return _of_each(op, FAILED * 1.0 / NullIf(Sum("calls"), 0), at)


def repair_rate_of(op: OuterRef, *, at: datetime) -> Combinable:
    """Return a subquery for an op's repair rate in the last seven days; NULL without failures."""
    return _of_each(op, Sum("mended") * 1.0 / NullIf(FAILED, 0), at)


def _of_each(op: OuterRef, figure: Combinable, at: datetime) -> Subquery:
    return Subquery(last_days(at).filter(op=op).order_by().values("op").annotate(figure=figure).values("figure"))


def reads_a_day(op: str, *, at: datetime) -> Reads:
    """Return an op's average help reads per day over the last seven days, or since the first day with figures."""
    return _reads(of_op(op, at=at), _days_counted(at))


def each_reads_a_day(*, at: datetime) -> dict[str, Reads]:
    """Return the average help reads per day by name, for each op and group with figures in the last seven days."""
    days = _days_counted(at)
    return {op: _reads(figures, days) for op, figures in of_each(last_days(at)).items()}


def dollars(tokens: float) -> Decimal:
    """Return the price of some input tokens in US dollars."""
    price: Decimal = settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS
    return Decimal(tokens) * price / 1_000_000


def commonest_errors(rows: QuerySet[OpDaily]) -> dict[str, tuple[str, str]]:
    """Return the most frequent field error of each op as {op: (pointer, code)}."""
    errors: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for op, counted in rows.exclude(field_errors=[]).values_list("op", "field_errors"):
        for pointer, code, times in counted:
            errors[op][pointer, code] += times
    return {op: found.most_common(1)[0][0] for op, found in errors.items()}


def _reads(figures: Figures, days: float) -> Reads:
    return Reads(*(count / days for count in (getattr(figures, name) for name in READS)))


def _days_counted(at: datetime) -> float:
    """Return how many days the figures of the last seven days cover, at least 1. Today counts as a fraction."""
    first: date | None = last_days(at).aggregate(first=Min("day"))["first"]
    return max(1.0, (at - datetime.combine(first or _today(at), time(), UTC)) / timedelta(days=1))


def _today(at: datetime) -> date:
    return at.astimezone(UTC).date()
