"""Figures of ops over the last seven days: calls, failures, help reads, and the most frequent errors."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db.models import Count, Min, OuterRef, QuerySet, Subquery, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, NullIf

from analytics.rollups.models import OpDaily
from analytics.turns.prices import get_mean_price

DAYS = 7  # today, which is incomplete, and the days before
FAILURE_FIELDS = ("invalid", "denied", "not_found", "conflict", "internal")
FAILED_CALLS: Combinable = sum((Sum(name) for name in FAILURE_FIELDS[1:]), start=Sum(FAILURE_FIELDS[0]))
READ_FIELDS = ("short_reads", "full_reads", "arg_reads", "list_reads")

# The minimum for an op to be listed as failing. Rates of fewer calls say little, and failures of 1 in 20 are tolerated.
MIN_FAILING_CALLS = 10
MIN_FAILURE_RATE = 0.05


@dataclass(frozen=True, slots=True)
class OpFigures:
    """Figures of an op or a group. `calls` includes the failed ones."""

    calls: int = 0
    invalid: int = 0
    denied: int = 0
    not_found: int = 0
    conflict: int = 0
    internal: int = 0
    repaired: int = 0  # failed calls that a later call in the same turn repaired
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
        return self.repaired / self.failed if self.failed else None

    @property
    def mean_latency_ms(self) -> float | None:
        """Average latency of a call in milliseconds; None without calls."""
        return self.latency_ms / self.calls if self.calls else None

    @property
    def most_common_failure(self) -> str | None:
        """The most frequent of FAILURE_FIELDS; None without failures."""
        return max(FAILURE_FIELDS, key=lambda name: int(getattr(self, name))) if self.failed else None


@dataclass(frozen=True, slots=True)
class FailingOpFigures:
    """An op whose calls fail often, and its most frequent field error as (pointer, code)."""

    op: str
    figures: OpFigures
    error: tuple[str, str] | None  # None if no field errors were recorded


@dataclass(frozen=True, slots=True)
class DailyReads:
    """Average reads per day of an op's or a group's help, by format."""

    short: float
    full: float
    arg: float
    listed: float


_SUM_FIELDS = ("calls", "repaired", "latency_ms", *FAILURE_FIELDS, *READ_FIELDS)


def filter_last_days(at: datetime) -> QuerySet[OpDaily]:
    """Return the daily figures of the last seven days."""
    return OpDaily.objects.filter(day__gt=_get_day(at) - timedelta(days=DAYS), day__lte=_get_day(at))


def get_op_figures(op: str, *, at: datetime) -> OpFigures:
    """Return the figures of one op or group over the last seven days."""
    sums = filter_last_days(at).filter(op=op).aggregate(**{name: Sum(name, default=0) for name in _SUM_FIELDS})
    return OpFigures(**sums)


def sum_figures_by_op(rows: QuerySet[OpDaily]) -> dict[str, OpFigures]:
    """Return the figures of each op and group by name. "" stands for searches and unknown names."""
    sums: Any = rows.values("op").annotate(**{name: Sum(name) for name in _SUM_FIELDS}).order_by("op")
    return {row.pop("op"): OpFigures(**row) for row in sums}


def list_failing_ops(*, at: datetime, limit: int = 5) -> list[FailingOpFigures]:
    """Return the ops that failed often in the last seven days, most failures first."""
    figures_by_op = {
        op: each
        for op, each in sum_figures_by_op(filter_last_days(at)).items()
        if op and each.calls >= MIN_FAILING_CALLS
    }
    worst = sorted(figures_by_op, key=lambda op: -figures_by_op[op].failed)
    failing_ops = [op for op in worst if (figures_by_op[op].failure_rate or 0) >= MIN_FAILURE_RATE][:limit]
    errors = find_most_common_errors(filter_last_days(at).filter(op__in=failing_ops))
    return [FailingOpFigures(op, figures_by_op[op], errors.get(op)) for op in failing_ops]


def count_calls(*, at: datetime) -> int:
    """Return the number of calls in the last seven days."""
    totals: int = filter_last_days(at).aggregate(calls=Sum("calls", default=0))["calls"]
    return totals


def build_calls_subquery(op: OuterRef, *, at: datetime) -> Combinable:
    """Return a subquery for an op's calls in the last seven days; 0 without calls."""
    return Coalesce(_build_subquery(op, Sum("calls"), at), 0)


def build_failed_calls_subquery(op: OuterRef, *, at: datetime) -> Combinable:
    """Return a subquery for an op's failed calls in the last seven days; 0 without calls."""
    return Coalesce(_build_subquery(op, FAILED_CALLS, at), 0)


def build_repair_rate_subquery(op: OuterRef, *, at: datetime) -> Combinable:
    """Return a subquery for an op's repair rate in the last seven days; NULL without failures."""
    return _build_subquery(op, Sum("repaired") * 1.0 / NullIf(FAILED_CALLS, 0), at)


def _build_subquery(op: OuterRef, figure: Combinable, at: datetime) -> Subquery:
    return Subquery(filter_last_days(at).filter(op=op).order_by().values("op").annotate(figure=figure).values("figure"))


def average_daily_reads(op: str, *, at: datetime) -> DailyReads:
    """Return an op's average help reads per day over the last seven days, or since the first day with figures."""
    return _average_reads(get_op_figures(op, at=at), _count_days(at))


def average_daily_reads_by_op(*, at: datetime) -> dict[str, DailyReads]:
    """Return the average help reads per day by name, for each op and group with figures in the last seven days."""
    days = _count_days(at)
    return {op: _average_reads(figures, days) for op, figures in sum_figures_by_op(filter_last_days(at)).items()}


def price_in_dollars(tokens: float, *, at: datetime) -> float:
    """Return the price of some tokens in US dollars, by the mean price of the models that read now."""
    return tokens * get_mean_price(at) / 1_000_000


def find_most_common_errors(rows: QuerySet[OpDaily]) -> dict[str, tuple[str, str]]:
    """Return the most frequent field error of each op, of equals the first by name, as {op: (pointer, code)}."""
    errors: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    # Most rows have the errors of few calls, so many are alike. The database counts those.
    groups: Any = rows.exclude(field_errors=[]).order_by().values("op", "field_errors").annotate(alike=Count("id"))
    for op, field_errors, count in groups.values_list("op", "field_errors", "alike"):
        for pointer, code, times in field_errors:
            errors[op][pointer, code] += times * count
    return {op: min(counts, key=lambda error: (-counts[error], error)) for op, counts in errors.items()}


def _average_reads(figures: OpFigures, days: float) -> DailyReads:
    return DailyReads(*(count / days for count in (getattr(figures, name) for name in READ_FIELDS)))


def _count_days(at: datetime) -> float:
    """Return how many days the figures of the last seven days cover, at least 1. Today counts as a fraction."""
    first: date | None = filter_last_days(at).aggregate(first=Min("day"))["first"]
    return max(1.0, (at - datetime.combine(first or _get_day(at), time(), UTC)) / timedelta(days=1))


def _get_day(at: datetime) -> date:
    return at.astimezone(UTC).date()
