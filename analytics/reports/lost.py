"""Dead ends of models: unknown names, and turns that repeat the same call."""

from typing import NamedTuple

from django.db.models import Count

from analytics.calls import UNKNOWN_NAME, UNKNOWN_OP, UNKNOWN_PATH
from analytics.models import Turn
from analytics.reports.scope import Scope


class Name(NamedTuple):
    """An unknown name as it was sent, and how often."""

    name: str
    times: int


def names(scope: Scope, *, limit: int = 20) -> list[Name]:
    """Return the unknown names that were called or read most often.

    Reads events, of which an index covers these few. Daily figures do not store names that callers make up.
    """
    events = scope.events().filter(reason__in=[UNKNOWN_OP, UNKNOWN_PATH]).filter(UNKNOWN_NAME).exclude(op="")
    found = events.values("op").annotate(times=Count("id")).order_by("-times", "op")
    return [Name(row["op"], row["times"]) for row in found[:limit]]


def worst_loops(scope: Scope, *, limit: int = 20) -> list[Turn]:
    """Return the turns with the most repeated calls, worst first."""
    return list(scope.turns().filter(repeats__gt=0).order_by("-repeats", "-time")[:limit])
