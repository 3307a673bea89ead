"""Totals of calls and turns: overall, per day, per op, or per surface, cohort, release, model or client."""

from dataclasses import dataclass, fields
from datetime import date, timedelta
from typing import Any

from django.db.models import Count, DateField, F, Min, Q, Sum
from django.db.models.functions import Cast

from analytics.reports.op_figures import FAILED_CALLS
from analytics.reports.report_filter import NO_COHORT, ReportFilter
from analytics.turns.models import TURN_CONDITIONS, Feedback, TurnWith


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of calls and turns. Rates are 0 to 1, or None if their denominator is 0."""

    calls: int = 0
    failed: int = 0
    repaired: int = 0  # failed calls that a later one in their turn repaired
    unknown_names: int = 0  # calls and help reads of unknown names
    searches: int = 0
    misses: int = 0
    latency_ms: float = 0.0  # sum over all calls
    turns: int = 0
    calling: int = 0  # turns with a call
    succeeding: int = 0  # turns with a call that succeeded
    lost: int = 0  # turns with an unknown name
    looping: int = 0  # turns that made the same call three times or more
    rated: int = 0  # ratings of turns by end users
    thumbs_up: int = 0

    @property
    def failure_rate(self) -> float | None:
        """Failed calls as a share of calls."""
        return _divide(self.failed, self.calls)

    @property
    def repair_rate(self) -> float | None:
        """Repaired calls as a share of failed calls."""
        return _divide(self.repaired, self.failed)

    @property
    def miss_rate(self) -> float | None:
        """Searches without a result as a share of searches."""
        return _divide(self.misses, self.searches)

    @property
    def success_rate(self) -> float | None:
        """Turns with a successful call as a share of turns with a call."""
        return _divide(self.succeeding, self.calling)

    @property
    def loop_rate(self) -> float | None:
        """Turns with a loop as a share of turns."""
        return _divide(self.looping, self.turns)

    @property
    def thumbs_up_rate(self) -> float | None:
        """Thumbs up as a share of ratings."""
        return _divide(self.thumbs_up, self.rated)

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


def _divide(hits: int, total: int) -> float | None:
    return hits / total if total else None


# Aggregates by name, of daily figures and of turns.
_DAILY_SUMS: dict[str, Any] = {
    "failed": FAILED_CALLS,
    **{name: Sum(name) for name in ("calls", "repaired", "unknown_names", "searches", "misses", "latency_ms")},
}
_TURN_COUNTS: dict[str, Any] = {
    "turns": Count("id"),
    "calling": Count("id", filter=TURN_CONDITIONS[TurnWith.CALL]),
    "succeeding": Count("id", filter=TURN_CONDITIONS[TurnWith.SUCCESS]),
    "lost": Count("id", filter=TURN_CONDITIONS[TurnWith.UNKNOWN_NAME]),
    "looping": Count("id", filter=TURN_CONDITIONS[TurnWith.LOOP]),
}
_RATING_COUNTS: dict[str, Any] = {
    "rated": Count("id"),
    "thumbs_up": Count("id", filter=Q(thumb=Feedback.Thumb.UP)),
}


def sum_period(report_filter: ReportFilter) -> Totals:
    """Return the totals of the whole period."""
    sums = {
        **report_filter.select_daily_figures().aggregate(**_DAILY_SUMS),
        **report_filter.select_turns().aggregate(**_TURN_COUNTS),
        **report_filter.select_feedback().aggregate(**_RATING_COUNTS),
    }
    return Totals(**{name: value or 0 for name, value in sums.items()})


def sum_by_day(report_filter: ReportFilter) -> dict[date, Totals]:
    """Return the totals of each UTC day in order, including days without any calls."""
    days = [report_filter.first_day + timedelta(days=number) for number in range(report_filter.days)]
    # Times and connections are in UTC already. A time zone conversion would double the cost of the query.
    totals_by_day = _sum_groups(report_filter, F("day"), Cast("time", DateField()))
    return {day: totals_by_day.get(day, Totals()) for day in days}


def count_active_days(report_filter: ReportFilter) -> int:
    """Return the number of days since the first one with figures; all days if there are none."""
    first: date | None = report_filter.select_daily_figures().aggregate(first=Min("day"))["first"]
    return (report_filter.last_day - first).days + 1 if first else report_filter.days


def sum_by_value(report_filter: ReportFilter, field: str) -> dict[str, Totals]:
    """Return the totals for each surface, cohort, release, model or client, by name.

    Calls that several cohorts decided count for each of them; calls that none decided count under NO_COHORT.
    """
    totals_by_value: dict[str, Totals] = {}
    for value, totals in _sum_groups(report_filter, F(field), F(field)).items():
        for name in (value.split() or [NO_COHORT]) if field == "cohort" else [value]:
            totals_by_value[name] = totals_by_value.get(name, Totals()) + totals
    return dict(sorted(totals_by_value.items()))


def sum_by_op(report_filter: ReportFilter) -> dict[str, Totals]:
    """Return the totals of each op that was called, by name. "" stands for unknown names."""
    sums: Any = (
        report_filter.select_daily_figures().values("op").annotate(**_DAILY_SUMS).filter(calls__gt=0).order_by("op")
    )
    return {row.pop("op"): Totals(**row) for row in sums}


def _sum_groups(report_filter: ReportFilter, day_key: Any, turn_key: Any) -> dict[Any, Totals]:
    sources: Any = (
        (report_filter.select_daily_figures(), day_key, _DAILY_SUMS),
        (report_filter.select_turns(), turn_key, _TURN_COUNTS),
        (report_filter.select_feedback(), turn_key, _RATING_COUNTS),
    )
    sums_by_key: dict[Any, dict[str, Any]] = {}
    for rows, key, counts in sources:
        for row in rows.annotate(of=key).values("of").annotate(**counts):
            sums_by_key.setdefault(row.pop("of"), {}).update(row)
    return {of: Totals(**row) for of, row in sums_by_key.items()}
