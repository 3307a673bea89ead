"""Funnel of turns: search, help, call, successful call."""

from typing import Any, NamedTuple

from django.db.models import Count, F, Q

from analytics.reports.report_filter import ReportFilter


class FunnelStep(NamedTuple):
    """How many turns took a step, and how many took it and every step before it."""

    name: str
    turns: int
    cumulative_turns: int


# The steps of a turn, in the order of a model that knows no op yet.
STEP_CONDITIONS: dict[str, Q] = {
    "searched": Q(searches__gt=0),
    "read help": Q(helps__gt=0),
    "called an op": Q(calls__gt=0),
    "had a call that succeeded": Q(calls__gt=F("failed")),
}


def count_steps(report_filter: ReportFilter) -> list[FunnelStep]:
    """Return the number of all turns, then each step."""
    counts: dict[str, Any] = {}
    before = Q()
    for number, condition in enumerate(STEP_CONDITIONS.values()):
        before &= condition
        counts |= {f"took_{number}": Count("id", filter=condition), f"all_{number}": Count("id", filter=before)}
    counted = report_filter.select_turns().aggregate(turns=Count("id"), **counts)
    all_turns = FunnelStep("turns", counted["turns"], counted["turns"])
    return [
        all_turns,
        *(FunnelStep(name, counted[f"took_{n}"], counted[f"all_{n}"]) for n, name in enumerate(STEP_CONDITIONS)),
    ]
