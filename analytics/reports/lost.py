"""Where models lose their way: names that nothing has, and calls made over and over."""

from typing import NamedTuple

from django.db.models import Count

from analytics.calls import UNKNOWN_NAME, UNKNOWN_OP, UNKNOWN_PATH
from analytics.models import Turn
from analytics.reports.scope import Scope


class Name(NamedTuple):
    """A name that nothing has, as it was sent, and how often."""

    name: str
    times: int


def names(scope: Scope, *, limit: int = 20) -> list[Name]:
    """Return the names that were called or read most and that nothing has.

    Out of the events, whose index holds these few: daily figures keep no name that a caller thought of.
    """
    events = scope.events().filter(reason__in=[UNKNOWN_OP, UNKNOWN_PATH]).filter(UNKNOWN_NAME).exclude(op="")
    found = events.values("op").annotate(times=Count("id")).order_by("-times", "op")
    return [Name(row["op"], row["times"]) for row in found[:limit]]


def worst_loops(scope: Scope, *, limit: int = 20) -> list[Turn]:
    """Return the turns in which most calls were repeats of another, the worst first."""
    return list(scope.turns().filter(repeats__gt=0).order_by("-repeats", "-time")[:limit])
