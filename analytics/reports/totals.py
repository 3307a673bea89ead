"""Totals of calls and turns: overall, per day, per op, or per surface, cohort, release or model."""

from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, DateField, F, Q, Sum
from django.db.models.functions import Cast

from analytics.reports.ops import FAILED
from analytics.reports.scope import NONE, Scope


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of calls and turns. Rates are 0 to 1, or None if their denominator is 0."""

    calls: int = 0
    failed: int = 0
    mended: int = 0  # failed calls that a later one in their turn repaired
    unknown_names: int = 0  # calls and help reads of unknown names
    searches: int = 0
    misses: int = 0
    latency_ms: float = 0.0  # sum over all calls
    turns: int = 0
    calling: int = 0  # turns with a call
    succeeding: int = 0  # turns with a call that succeeded
    lost: int = 0  # turns with an unknown name
    looping: int = 0  # turns that made the same call three times or more

    @property
    def failure_rate(self) -> float | None:
        """Failed calls as a share of calls."""
        return _rate(self.failed, self.calls)

    @property
    def repair_rate(self) -> float | None:
        """Repaired calls as a share of failed calls."""
        return _rate(self.mended, self.failed)

    @property
    def miss_rate(self) -> float | None:
        """Searches without a result as a share of searches."""
        return _rate(self.misses, self.searches)

    @property
    def success_rate(self) -> float | None:
        """Turns with a successful call as a share of turns with a call."""
        return _rate(self.succeeding, self.calling)

    @property
    def loop_rate(self) -> float | None:
        """Turns with a loop as a share of turns."""
        return _rate(self.looping, self.turns)

    @property
    def unknown_per_thousand(self) -> float | None:
        """Unknown names, called or read, per 1,000 calls."""
        return self.unknown_names * 1000 / self.calls if self.calls else None

    @property
    def mean_latency_ms(self) -> float | None:
        """Average latency of a call in milliseconds."""
        return self.latency_ms / self.calls if self.calls else None

    def __add__(self, other: "Totals") -> "Totals":
        return Totals(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def _rate(hits: int, of: int) -> float | None:
    return hits / of if of else None


# Aggregates by name, of daily figures and of turns.
_DAILY: dict[str, Any] = {
    "failed": FAILED,
    **{name: Sum(name) for name in ("calls", "mended", "unknown_names", "searches", "misses", "latency_ms")},
}
_TURNS: dict[str, Any] = {
    "turns": Count("id"),
    "calling": Count("id", filter=Q(calls__gt=0)),
    "succeeding": Count("id", filter=Q(calls__gt=F("failed"))),
    "lost": Count("id", filter=Q(unknown_names__gt=0)),
    "looping": Count("id", filter=Q(repeats__gt=0)),
}


def total(scope: Scope) -> Totals:
    """Return the totals of the whole period."""
    found = scope.daily().aggregate(**_DAILY) | scope.turns().aggregate(**_TURNS)
    return Totals(**{name: value or 0 for name, value in found.items()})


def a_day(scope: Scope) -> dict[date, Totals]:
    """Return the totals of each UTC day in order, including days without any calls."""
    days = [scope.first + timedelta(days=number) for number in range(scope.days)]
    # Times and connections are in UTC already. A time zone conversion would double the cost of the query.
    found = _summed(scope, F("day"), Cast("time", DateField()))
    return {day: found.get(day, Totals()) for day in days}


def each(scope: Scope, by: str) -> dict[str, Totals]:
    """Return the totals for each surface, cohort, release or model, by name.

    Calls that several cohorts decided count for each of them; calls that none decided count under NO_COHORT.
    """
    found: dict[str, Totals] = {}
    for value, totals in _summed(scope, F(by), F(by)).items():
        for name in (value.split() or [NONE]) if by == "cohort" else [value]:
            found[name] = found.get(name, Totals()) + totals
    return dict(sorted(found.items()))


def each_op(scope: Scope) -> dict[str, Totals]:
    """Return the totals of each op that was called, by name. "" stands for unknown names."""
    sums: Any = scope.daily().values("op").annotate(**_DAILY).filter(calls__gt=0).order_by("op")
    return {row.pop("op"): Totals(**row) for row in sums}


def _summed(scope: Scope, of_day: Any, of_turn: Any) -> dict[Any, Totals]:
    sources: Any = ((scope.daily(), of_day, _DAILY), (scope.turns(), of_turn, _TURNS))
    found: dict[Any, dict[str, Any]] = {}
    for rows, key, counts in sources:
        for row in rows.annotate(of=key).values("of").annotate(**counts):
            found.setdefault(row.pop("of"), {}).update(row)
    return {of: Totals(**row) for of, row in found.items()}
