"""How far turns get, and what models do to find an op."""

from typing import Any, NamedTuple

from django.db.models import Count

from analytics.reports.report_filter import ReportFilter
from analytics.turns.models import TURN_CONDITIONS, TurnWith


class TurnCount(NamedTuple):
    """How many turns contain something."""

    name: str
    contains: TurnWith | None  # None for all turns
    turns: int


# Each step is part of the one before, so the counts can only fall.
STEPS = {"called an op": TurnWith.CALL, "had a call that succeeded": TurnWith.SUCCESS}
# A turn can contain both, or neither: then the model knew the op.
WAYS = {"searched": TurnWith.SEARCH, "read help": TurnWith.HELP_READ}


def count_turns(report_filter: ReportFilter) -> tuple[list[TurnCount], list[TurnCount]]:
    """Return the number of all turns and of those that took each step, and of those that went each way."""
    counts: dict[str, Any] = {
        str(contains): Count("id", filter=TURN_CONDITIONS[contains]) for contains in (*STEPS.values(), *WAYS.values())
    }
    counted = report_filter.select_turns().aggregate(turns=Count("id"), **counts)
    steps, ways = (
        [TurnCount(name, contains, counted[contains]) for name, contains in part.items()] for part in (STEPS, WAYS)
    )
    return [TurnCount("turns", None, counted["turns"]), *steps], ways
