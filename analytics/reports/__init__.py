"""Reports on calls and turns, from the aggregates of `analytics.rollups.rollup_job` and never from single events.

Functions take and return plain values, so that another store could replace the database behind them.
"""

from analytics.reports.op_figures import (
    DAYS,
    FAILURE_FIELDS,
    MIN_FAILING_CALLS,
    MIN_FAILURE_RATE,
    DailyReads,
    FailingOpFigures,
    OpFigures,
    average_daily_reads,
    average_daily_reads_by_op,
    build_calls_subquery,
    build_failed_calls_subquery,
    build_repair_rate_subquery,
    count_calls,
    filter_last_days,
    find_most_common_errors,
    get_op_figures,
    list_failing_ops,
    price_in_dollars,
    sum_figures_by_op,
)

__all__ = [
    "DAYS",
    "FAILURE_FIELDS",
    "MIN_FAILING_CALLS",
    "MIN_FAILURE_RATE",
    "DailyReads",
    "FailingOpFigures",
    "OpFigures",
    "average_daily_reads",
    "average_daily_reads_by_op",
    "build_calls_subquery",
    "build_failed_calls_subquery",
    "build_repair_rate_subquery",
    "count_calls",
    "filter_last_days",
    "find_most_common_errors",
    "get_op_figures",
    "list_failing_ops",
    "price_in_dollars",
    "sum_figures_by_op",
]
