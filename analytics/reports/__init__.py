"""What pages tell of calls and turns, out of what `analytics.rollup` has counted and never out of events.

Each function takes what it is asked for as plain values and returns plain ones: another store may stand behind them.
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
