"""Reports on calls and turns, from the aggregates of `analytics.rollup` and never from single events.

Functions take and return plain values, so that another store could replace the database behind them.
"""

from analytics.reports.op_figures import (
    DAYS,
    FAILURE_FIELDS,
    MIN_FAILING_CALLS,
    MIN_FAILURE_RATE,
    FailingOpFigures,
    OpFigures,
    DailyReads,
    count_calls,
    build_calls_subquery,
    find_most_common_errors,
    price_in_dollars,
    average_daily_reads_by_op,
    list_failing_ops,
    build_failure_rate_subquery,
    filter_last_days,
    sum_figures_by_op,
    get_op_figures,
    average_daily_reads,
    build_repair_rate_subquery,
)

__all__ = [
    "DAYS",
    "FAILURE_FIELDS",
    "MIN_FAILING_CALLS",
    "MIN_FAILURE_RATE",
    "FailingOpFigures",
    "OpFigures",
    "DailyReads",
    "count_calls",
    "build_calls_subquery",
    "find_most_common_errors",
    "price_in_dollars",
    "average_daily_reads_by_op",
    "list_failing_ops",
    "build_failure_rate_subquery",
    "filter_last_days",
    "sum_figures_by_op",
    "get_op_figures",
    "average_daily_reads",
    "build_repair_rate_subquery",
]
