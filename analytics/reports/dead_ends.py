"""Dead ends of models: unknown names, and turns that repeat the same call."""

from collections import Counter
from typing import NamedTuple

from django.db.models import Count

from analytics.events.event_filters import UNKNOWN_NAME
from analytics.events.models import UNKNOWN_OP, UNKNOWN_PATH
from analytics.reports.report_filter import ReportFilter
from analytics.turns.models import Turn
from analytics.turns.turn_filters import TURN_CONDITIONS, TurnWith


class UnknownName(NamedTuple):
    """An unknown name as it was sent, and how often."""

    name: str
    times: int
    releases: Counter[str]  # that served it


def count_unknown_names(report_filter: ReportFilter, *, limit: int = 20) -> list[UnknownName]:
    """Return the unknown names that were called or read most often.

    Reads events, of which an index covers these few. Daily figures do not store names that callers make up.
    """
    events = (
        report_filter.select_events().filter(reason__in=[UNKNOWN_OP, UNKNOWN_PATH]).filter(UNKNOWN_NAME).exclude(op="")
    )
    groups = events.values("op").annotate(times=Count("id")).order_by("-times", "op")
    times = {row["op"]: row["times"] for row in groups[:limit]}
    releases: dict[str, Counter[str]] = {name: Counter() for name in times}
    for name, release in events.filter(op__in=times).values_list("op", "release"):
        releases[name][release] += 1
    return [UnknownName(name, times[name], releases[name]) for name in times]


def list_worst_loops(report_filter: ReportFilter, *, limit: int = 20) -> list[Turn]:
    """Return the turns with the most repeated calls, worst first."""
    return list(
        report_filter.select_turns().filter(TURN_CONDITIONS[TurnWith.LOOP]).order_by("-repeats", "-time")[:limit]
    )
