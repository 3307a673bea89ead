"""How long reports take over many events: the query functions of each page, on the rolled-up counts."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from analytics import reports
from analytics.experiments.cohorts import comparison
from analytics.reports import misses, report_filter, selection, totals, turn_figures
from analytics.reports.report_filter import ReportFilter
from analytics.rollups import rollup_job
from benchmarks import experiment_page, rows, synthetic
from benchmarks.figures import compute_percentile
from benchmarks.run_size import shrink
from demo.traffic import activity
from demo.traffic.turns import DemoOp
from registry.catalog import cache

OP_COUNT = 200  # distinct ops that are called
EVENTS_PER_TURN = 3.17  # events per day for each turn of a working day
EDITED_OPS = 50  # between the two releases that are compared
EXPERIMENT_USERS = 100_000
ROUNDS = 5


def measure_reports(events: int) -> dict[str, Any]:
    """Fill a database without events with about this many, on two releases, and time the reports.

    Returns {events, filled_s, counted_s, pages: {name: p95 in ms}, experiment: see `experiment_page`}.
    """
    at = timezone.now()
    started = time.perf_counter()
    turns_a_day = round(events / activity.DAYS / EVENTS_PER_TURN)
    earlier = cache.get_live_catalog().version
    rows.edit_ops(EDITED_OPS)
    rows.publish_draft()
    event_count = activity.write(
        at=at,
        days=activity.DAYS,
        turns_a_day=turns_a_day,
        ops=build_demo_ops(),
        releases=(earlier, cache.get_live_catalog().version),
    )
    update_statistics()
    filled_at = time.perf_counter()
    rollup_job.recount_from((at - timedelta(days=activity.DAYS)).date(), at)  # servers have counted today already
    update_statistics()
    counted_at = time.perf_counter()
    pages = {name: round(_measure_p95(page, at), 1) for name, page in PAGES.items()}
    seconds = {"filled_s": filled_at - started, "counted_s": counted_at - filled_at}
    experiment = experiment_page.measure_experiment(shrink(EXPERIMENT_USERS, least=100))
    return {"events": event_count, **seconds, "pages": pages, "experiment": experiment}


def update_statistics() -> None:
    """Update the planner statistics, as the database does by itself within minutes."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def build_demo_ops() -> list[DemoOp]:
    errors = (("/name", "required"), ("/state", "enum"), ("/limit", "maximum"))
    return [
        DemoOp(entry["op"], entry["tool_name"], 1 + 50 // (number + 1), 8.0, errors[: number % 4])
        for number, entry in enumerate(synthetic.build_ops(OP_COUNT))
    ]


def _query_by_op(active_filter: ReportFilter) -> None:
    figures_by_op = reports.sum_figures_by_op(active_filter.select_daily_figures())
    comparison.find_worst_op(active_filter, figures_by_op)
    reports.find_most_common_errors(active_filter.select_daily_figures())


def _query_side_by_side(active_filter: ReportFilter, by: str, first: str = "", second: str = "") -> None:
    totals_by_value = totals.sum_by_value(active_filter, by)
    pair = comparison.choose_sides(totals_by_value, by, first=first, second=second)
    if pair is None:
        raise RuntimeError(f"The events have one {by} only.")
    by_side = comparison.sum_sides(active_filter, by, pair)
    comparison.compare_sides(active_filter, by, pair, totals_by_value, by_side)
    comparison.find_changed_ops(active_filter, by, pair, by_side)


def _query_selection(active_filter: ReportFilter) -> None:
    selection.sum_selections(active_filter)
    selection.list_most_missed(active_filter)


def _query_dead_ends(active_filter: ReportFilter) -> None:
    totals.sum_period(active_filter)
    misses.count_unknown_names(active_filter)
    misses.list_worst_loops(active_filter)


# The report pages and the queries of each, apart from those for its filter choices.
PAGES: dict[str, Callable[[ReportFilter], object]] = {
    "overview": totals.sum_by_day,
    "funnel": turn_figures.count_turns,
    "by op": _query_by_op,
    "by model": lambda of: totals.sum_by_value(of, "model"),
    "side by side": lambda of: _query_side_by_side(of, "cohort", "copy-a", "copy-b"),
    "side by side, releases": lambda of: _query_side_by_side(of, "release"),
    "tool selection": _query_selection,
    "unknown names and loops": _query_dead_ends,
}
FILTERS: tuple[dict[str, Any], ...] = (
    {"days": 7},
    {"days": 28},
    {"days": 90},
    {"days": 28, "surface": "gateway"},
    {"days": 28, "model": "claude"},
)


def _measure_p95(page: Callable[[ReportFilter], object], at: datetime) -> float:
    """Return the 95th percentile of a page's time in milliseconds, over all FILTERS."""
    return compute_percentile(
        [_measure_ms(page, ReportFilter(at, **filters)) for filters in FILTERS for _ in range(shrink(ROUNDS))], 95
    )


def _measure_ms(page: Callable[[ReportFilter], object], active_filter: ReportFilter) -> float:
    started = time.perf_counter()
    report_filter.list_filter_values(active_filter.at)
    page(active_filter)
    return (time.perf_counter() - started) * 1000
