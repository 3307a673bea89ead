"""How long reports take over many events: the query functions of each page, on the rolled-up counts."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from analytics import reports, rollup
from analytics.reports import comparing, funnel, lost, scope, selection, totals
from analytics.reports.scope import Scope
from benchmarks import synthetic
from benchmarks.figures import percentile
from gateway.demo import activity
from gateway.demo.turns import DemoOp

OPS = 200  # distinct ops that are called
EVENTS = 3.17  # events per day for each turn of a working day
ROUNDS = 5


def measure(events: int) -> dict[str, Any]:
    """Fill an empty database with about this many events and time the reports.

    Returns {events, filled_s, counted_s, pages: {name: p95 in ms}}.
    """
    at = timezone.now()
    started = time.perf_counter()
    turns_a_day = round(events / activity.DAYS / EVENTS)
    written = activity.write(at=at, days=activity.DAYS, turns_a_day=turns_a_day, ops=_ops())
    _analyze()
    filled = time.perf_counter()
    rollup.catch_up(at)
    _analyze()
    counted = time.perf_counter()
    pages = {name: round(_p95(page, at), 1) for name, page in PAGES.items()}
    return {"events": written, "filled_s": filled - started, "counted_s": counted - filled, "pages": pages}


def _analyze() -> None:
    """Update the planner statistics, as the database does by itself within minutes."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _ops() -> list[DemoOp]:
    errors = (("/name", "required"), ("/state", "enum"), ("/limit", "maximum"))
    return [
        DemoOp(entry["op"], entry["tool_name"], 1 + 50 // (number + 1), 8.0, errors[: number % 4])
        for number, entry in enumerate(synthetic.ops(OPS))
    ]


def _by_op(of: Scope) -> None:
    reports.of_each(of.daily())
    reports.commonest_errors(of.daily())


def _side_by_side(of: Scope, by: str, first: str, second: str) -> None:
    found = totals.each(of, by)
    comparing.compared(found[first], found[second], days=of.days)
    comparing.moved(of, by, first, second)


def _side_by_side_of_releases(of: Scope) -> None:
    first, second = scope.seen(of.at)["release"]
    _side_by_side(of, "release", first, second)


def _selection(of: Scope) -> None:
    selection.of(of)
    selection.most_missed(of)


def _lost(of: Scope) -> None:
    totals.total(of)
    lost.names(of)
    lost.worst_loops(of)


# The report pages and the queries of each, apart from those for its filter choices.
PAGES: dict[str, Callable[[Scope], object]] = {
    "overview": totals.a_day,
    "funnel": funnel.steps,
    "by op": _by_op,
    "by model": lambda of: totals.each(of, "model"),
    "side by side": lambda of: _side_by_side(of, "cohort", "copy-a", "copy-b"),
    "side by side, releases": _side_by_side_of_releases,
    "tool selection": _selection,
    "unknown names and loops": _lost,
}
FILTERS: tuple[dict[str, Any], ...] = (
    *({"days": 7}, {"days": 28}, {"days": 90}),
    *({"days": 28, "surface": "gateway"}, {"days": 28, "model": "claude"}),
)


def _p95(page: Callable[[Scope], object], at: datetime) -> float:
    """Return the 95th percentile of a page's time in milliseconds, over all FILTERS."""
    return percentile([_ms(page, Scope(at, **filters)) for filters in FILTERS for _ in range(ROUNDS)], 95)


def _ms(page: Callable[[Scope], object], of: Scope) -> float:
    started = time.perf_counter()
    scope.seen(of.at)
    page(of)
    return (time.perf_counter() - started) * 1000
