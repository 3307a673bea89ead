"""Reports on calls and turns, from the aggregates of `analytics.rollup` and never from single events.

Functions take and return plain values, so that another store could replace the database behind them.
"""

from analytics.reports.ops import (
    DAYS,
    FAILURES,
    LEAST_CALLS,
    LEAST_RATE,
    Failing,
    Figures,
    Reads,
    calls,
    calls_of,
    commonest_errors,
    dollars,
    each_reads_a_day,
    failing,
    failure_rate_of,
    last_days,
    of_each,
    of_op,
    reads_a_day,
    repair_rate_of,
)

__all__ = [
    "DAYS",
    "FAILURES",
    "LEAST_CALLS",
    "LEAST_RATE",
    "Failing",
    "Figures",
    "Reads",
    "calls",
    "calls_of",
    "commonest_errors",
    "dollars",
    "each_reads_a_day",
    "failing",
    "failure_rate_of",
    "last_days",
    "of_each",
    "of_op",
    "reads_a_day",
    "repair_rate_of",
]
