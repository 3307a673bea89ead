"""How far turns come: from a search over help to a call, and to one that succeeded."""

from typing import Any, NamedTuple

from django.db.models import Count, F, Q

from analytics.reports.scope import Scope


class Step(NamedTuple):
    """How many turns took a step, and how many of them every step before it too."""

    name: str
    turns: int
    after_all_before: int


# What a turn did, in the order in which a model that knows nothing would.
STEPS: dict[str, Q] = {
    "searched": Q(searches__gt=0),
    "read help": Q(helps__gt=0),
    "called an op": Q(calls__gt=0),
    "had a call that succeeded": Q(calls__gt=F("failed")),
}


def steps(scope: Scope) -> list[Step]:
    """Return all turns, and then each step."""
    counts: dict[str, Any] = {}
    before = Q()
    for number, condition in enumerate(STEPS.values()):
        before &= condition
        counts |= {f"took_{number}": Count("id", filter=condition), f"all_{number}": Count("id", filter=before)}
    found = scope.turns().aggregate(turns=Count("id"), **counts)
    began = Step("turns", found["turns"], found["turns"])
    return [began, *(Step(name, found[f"took_{n}"], found[f"all_{n}"]) for n, name in enumerate(STEPS))]
