"""Funnel of turns: search, help, call, successful call."""

from typing import Any, NamedTuple

from django.db.models import Count, F, Q

from analytics.reports.scope import Scope


class Step(NamedTuple):
    """How many turns took a step, and how many took it and every step before it."""

    name: str
    turns: int
    after_all_before: int


# The steps of a turn, in the order of a model that knows no op yet.
STEPS: dict[str, Q] = {
    "searched": Q(searches__gt=0),
    "read help": Q(helps__gt=0),
    "called an op": Q(calls__gt=0),
    "had a call that succeeded": Q(calls__gt=F("failed")),
}


def steps(scope: Scope) -> list[Step]:
    """Return the number of all turns, then each step."""
    counts: dict[str, Any] = {}
    before = Q()
    for number, condition in enumerate(STEPS.values()):
        before &= condition
        counts |= {f"took_{number}": Count("id", filter=condition), f"all_{number}": Count("id", filter=before)}
    found = scope.turns().aggregate(turns=Count("id"), **counts)
    began = Step("turns", found["turns"], found["turns"])
    return [began, *(Step(name, found[f"took_{n}"], found[f"all_{n}"]) for n, name in enumerate(STEPS))]
