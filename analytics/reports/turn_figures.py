"""Funnel of turns: search, help, call, successful call."""

from typing import Any, NamedTuple

from django.db.models import Count, Q

from analytics.reports.report_filter import ReportFilter
from analytics.turns.models import TURN_CONDITIONS, TurnWith


class FunnelStep(NamedTuple):
    """How many turns took a step, and how many took it and every step before it."""

    name: str
    contains: TurnWith | None  # what a turn with this step contains; None for all turns
    turns: int
    cumulative_turns: int


# The steps of a turn, in the order of a model that knows no op yet.
STEPS = {
    "searched": TurnWith.SEARCH,
    "read help": TurnWith.HELP_READ,
    "called an op": TurnWith.CALL,
    "had a call that succeeded": TurnWith.SUCCESS,
}


def count_steps(report_filter: ReportFilter) -> list[FunnelStep]:
    """Return the number of all turns, then each step."""
    counts: dict[str, Any] = {}
    before = Q()
    for number, contains in enumerate(STEPS.values()):
        condition = TURN_CONDITIONS[contains]
        before &= condition
        counts |= {f"took_{number}": Count("id", filter=condition), f"all_{number}": Count("id", filter=before)}
    counted = report_filter.select_turns().aggregate(turns=Count("id"), **counts)
    all_turns = FunnelStep("turns", None, counted["turns"], counted["turns"])
    return [
        all_turns,
        *(
            FunnelStep(name, contains, counted[f"took_{n}"], counted[f"all_{n}"])
            for n, (name, contains) in enumerate(STEPS.items())
        ),
    ]
