"""What pages tell of ops: calls, failures and reads of the last seven days, and what is wrong with most calls."""

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

DAYS = 7  # of today, so far, and the days before
FAILURES = ("invalid", "denied", "not_found", "conflict", "internal")
FAILED: Combinable = sum((Sum(name) for name in FAILURES[1:]), start=Sum(FAILURES[0]))
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
    mended: int = 0  # of those that failed, by a later call in the same turn
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

    @property
    def repair_rate(self) -> float | None:
        """Of failed calls, 0 to 1; None where there was none."""
        return self.mended / self.failed if self.failed else None

    @property
    def mean_latency_ms(self) -> float | None:
        """Milliseconds of a call; None where there was none."""
        return self.latency_ms / self.calls if self.calls else None

    @property
    def commonest_failure(self) -> str | None:
        """How most calls failed that did, one of FAILURES; None where none did."""
        return max(FAILURES, key=lambda name: int(getattr(self, name))) if self.failed else None


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


_FIELDS = (*("calls", "mended", "latency_ms"), *FAILURES, *READS)


def last_days(at: datetime) -> QuerySet[OpDaily]:
    """Return the rows of the last seven days."""
    return OpDaily.objects.filter(day__gt=_today(at) - timedelta(days=DAYS), day__lte=_today(at))


def of_op(op: str, *, at: datetime) -> Figures:
    """Return the figures of one op or group over the last seven days."""
    sums = last_days(at).filter(op=op).aggregate(**{name: Sum(name, default=0) for name in _FIELDS})
    return Figures(**sums)


def of_each(rows: QuerySet[OpDaily]) -> dict[str, Figures]:
    """Return the figures of each op and group in some rows, by name; "" are searches and names that nothing has."""
    sums: Any = rows.values("op").annotate(**{name: Sum(name) for name in _FIELDS}).order_by("op")
    return {row.pop("op"): Figures(**row) for row in sums}


def failing(*, at: datetime, limit: int = 5) -> list[Failing]:
    """Return the ops that failed often in the last seven days, those with most failures first."""
    found = {op: each for op, each in of_each(last_days(at)).items() if op and each.calls >= LEAST_CALLS}
    worst = sorted(found, key=lambda op: -found[op].failed)
    told = [op for op in worst if (found[op].failure_rate or 0) >= LEAST_RATE][:limit]
    errors = commonest_errors(last_days(at).filter(op__in=told))
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
    return _of_each(op, FAILED * 1.0 / NullIf(Sum("calls"), 0), at)


def repair_rate_of(op: OuterRef, *, at: datetime) -> Combinable:
    """Return the repair rate of the last seven days, in a query of rows that name an op; null without a failure."""
    return _of_each(op, Sum("mended") * 1.0 / NullIf(FAILED, 0), at)


def _of_each(op: OuterRef, figure: Combinable, at: datetime) -> Subquery:
    return Subquery(last_days(at).filter(op=op).order_by().values("op").annotate(figure=figure).values("figure"))


def reads_a_day(op: str, *, at: datetime) -> Reads:
    """Return how often a day an op's help was read: over the last seven days, or since the first that was counted."""
    return _reads(of_op(op, at=at), _days_counted(at))


def each_reads_a_day(*, at: datetime) -> dict[str, Reads]:
    """Return the same of each op and group that was called or read in the last seven days, by name."""
    days = _days_counted(at)
    return {op: _reads(figures, days) for op, figures in of_each(last_days(at)).items()}


def dollars(tokens: float) -> Decimal:
    """Return what models pay for reading some tokens, in US dollars."""
    price: Decimal = settings.GATEWAY_DOLLARS_PER_MILLION_TOKENS
    return Decimal(tokens) * price / 1_000_000


def commonest_errors(rows: QuerySet[OpDaily]) -> dict[str, tuple[str, str]]:
    """Return what was wrong with most calls of each op: the pointer and the code of an argument."""
    errors: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for op, counted in rows.exclude(field_errors=[]).values_list("op", "field_errors"):
        for pointer, code, times in counted:
            errors[op][pointer, code] += times
    return {op: found.most_common(1)[0][0] for op, found in errors.items()}


def _reads(figures: Figures, days: float) -> Reads:
    return Reads(*(count / days for count in (getattr(figures, name) for name in READS)))


def _days_counted(at: datetime) -> float:
    """Return how many days the figures of the last seven are of: at least one, the last as far as it has come."""
    first: date | None = last_days(at).aggregate(first=Min("day"))["first"]
    return max(1.0, (at - datetime.combine(first or _today(at), time(), UTC)) / timedelta(days=1))


def _today(at: datetime) -> date:
    return at.astimezone(UTC).date()
