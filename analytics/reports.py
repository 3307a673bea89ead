"""What pages tell of ops: calls, failures and reads, out of the daily figures and never out of events."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Min, OuterRef, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf

from analytics.models import OpDaily

DAYS = 7  # of today, so far, and the days before
FAILURES = ("invalid", "denied", "not_found", "conflict", "internal")
READS = ("short_reads", "full_reads", "arg_reads", "list_reads")

# An op fails often enough to be told of: of a few calls a rate says nothing, and one in twenty is left to chance.
LEAST_CALLS = 10
LEAST_RATE = 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """What happened to an op or a group in the last days. Failures are calls, too."""

    calls: int = 0
    invalid: int = 0
    denied: int = 0
    not_found: int = 0
    conflict: int = 0
    internal: int = 0
    latency_ms: float = 0.0  # of all calls together
    short_reads: int = 0
    full_reads: int = 0
    arg_reads: int = 0
    list_reads: int = 0

    @property
    def failed(self) -> int:
        return self.invalid + self.denied + self.not_found + self.conflict + self.internal

    @property
    def failure_rate(self) -> float | None:
        """Of calls, 0 to 1; None where there was none."""
        return self.failed / self.calls if self.calls else None


@dataclass(frozen=True, slots=True)
class Failing:
    """An op whose calls fail often, and what is wrong with most of them: the pointer and the code of an argument."""

    op: str
    figures: Figures
    error: tuple[str, str] | None  # None: no argument was to blame


@dataclass(frozen=True, slots=True)
class Reads:
    """How often a day the help of an op or a group was read, over the last days."""

    short: float
    full: float
    arg: float
    listed: float


_FIELDS = (*("calls", "latency_ms"), *FAILURES, *READS)


def last_days(at: datetime) -> QuerySet[OpDaily]:
    """Return the rows of the last seven days."""
    return OpDaily.objects.filter(day__gt=_today(at) - timedelta(days=DAYS), day__lte=_today(at))


def of_op(op: str, *, at: datetime) -> Figures:
    """Return the figures of one op or group over the last seven days."""
    sums = last_days(at).filter(op=op).aggregate(**{name: Sum(name, default=0) for name in _FIELDS})
    return Figures(**sums)


def failing(*, at: datetime, limit: int = 5) -> list[Failing]:
    """Return the ops that failed often in the last seven days, those with most failures first."""
    sums = last_days(at).exclude(op="").values("op").annotate(**{name: Sum(name) for name in _FIELDS})
    often: Any = sums.filter(calls__gte=LEAST_CALLS).order_by("op")
    found = {row.pop("op"): Figures(**row) for row in often}
    worst = sorted(found, key=lambda op: -found[op].failed)
    told = [op for op in worst if (found[op].failure_rate or 0) >= LEAST_RATE][:limit]
    errors = _commonest_errors(told, at)
    return [Failing(op, found[op], errors.get(op)) for op in told]


def calls(*, at: datetime) -> int:
    """Return how many calls there were in the last seven days."""
    found: int = last_days(at).aggregate(calls=Sum("calls", default=0))["calls"]
    return found


def calls_of(op: OuterRef, *, at: datetime) -> Combinable:
    """Return the calls of the last seven days, in a query of rows that name an op; 0 where there are none."""
    return Coalesce(_of_each(op, Sum("calls"), at), 0)


def failure_rate_of(op: OuterRef, *, at: datetime) -> Combinable:
    """Return the failure rate of the last seven days, in a query of rows that name an op; null without a call."""
    failed = sum((Sum(name) for name in FAILURES[1:]), start=Sum(FAILURES[0]))
    return _of_each(op, failed * 1.0 / NullIf(Sum("calls"), 0), at)


def _of_each(op: OuterRef, figure: Combinable, at: datetime) -> Subquery:
    return Subquery(last_days(at).filter(op=op).order_by().values("op").annotate(figure=figure).values("figure"))


def reads_a_day(op: str, *, at: datetime) -> Reads:
    """Return how often a day an op's help was read: over the last seven days, or since the first that was counted."""
    figures, days = of_op(op, at=at), _days_counted(at)
    return Reads(*(count / days for count in (getattr(figures, name) for name in READS)))


def dollars(tokens: float) -> Decimal:
    """Return what models pay for reading some tokens, in US dollars."""
    price: Decimal = settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS
    return Decimal(tokens) * price / 1_000_000


def _commonest_errors(ops: list[str], at: datetime) -> dict[str, tuple[str, str]]:
    errors: dict[str, Counter[tuple[str, str]]] = {op: Counter() for op in ops}
    for op, counted in last_days(at).filter(op__in=ops).values_list("op", "field_errors"):
        for pointer, code, times in counted:
            errors[op][pointer, code] += times
    return {op: found.most_common(1)[0][0] for op, found in errors.items() if found}


def _days_counted(at: datetime) -> float:
    """Return how many days the figures of the last seven are of: at least one, the last as far as it has come."""
    first: date | None = last_days(at).aggregate(first=Min("day"))["first"]
    return max(1.0, (at - datetime.combine(first or _today(at), time(), UTC)) / timedelta(days=1))


def _today(at: datetime) -> date:
    return at.astimezone(UTC).date()
