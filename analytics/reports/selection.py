"""Tool selection: which tools models were given and which they used, as reported by chat services."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import Avg, Count, Func, IntegerField, Q, Sum

from analytics.models import ToolSelection
from analytics.reports.scope import Scope


class Name(NamedTuple):
    """A tool that was called but not in the toolset, and the number of turns."""

    name: str
    turns: int


@dataclass(frozen=True, slots=True)
class Selections:
    """Totals of the reported turns. `loaded`, `used`, `missed` and `escalated` count tools."""

    turns: int
    loaded: int
    used: int
    missed: int
    escalated: int
    missing: int  # turns with a tool miss
    escalating: int  # turns with an escalation
    tokens: float | None  # average per turn, over the turns that report tokens
    outcomes: dict[str, int]  # turns by outcome for the user

    @property
    def used_rate(self) -> float | None:
        """Tools used as a share of tools loaded, 0 to 1."""
        return self.used / self.loaded if self.loaded else None

    @property
    def miss_rate(self) -> float | None:
        """Share of turns with a tool miss, 0 to 1."""
        return self.missing / self.turns if self.turns else None

    @property
    def escalation_rate(self) -> float | None:
        """Share of turns with an escalation, 0 to 1."""
        return self.escalating / self.turns if self.turns else None


class _Length(Func):
    """SQL function: the length of a JSON list."""

    function = "JSONB_ARRAY_LENGTH"
    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSON_ARRAY_LENGTH", **more)


_LISTS = ("loaded", "used", "missed", "escalated")


def of(scope: Scope) -> Selections:
    """Return the totals of the tool selections in a scope."""
    sums: dict[str, Any] = {name: Sum(_Length(name), default=0) for name in _LISTS}
    outcomes = {str(each): Count("id", filter=Q(outcome=each)) for each in ToolSelection.Outcome}
    found = scope.selections().aggregate(
        turns=Count("id"),
        missing=Count("id", filter=~Q(missed=[])),
        escalating=Count("id", filter=~Q(escalated=[])),
        mean_tokens=Avg("tokens"),
        **{f"sum_{name}": each for name, each in sums.items()},
        **{f"outcome_{name}": each for name, each in outcomes.items()},
    )
    return Selections(
        turns=found["turns"],
        missing=found["missing"],
        escalating=found["escalating"],
        tokens=found["mean_tokens"],
        outcomes={name: found[f"outcome_{name}"] for name in outcomes},
        **{name: found[f"sum_{name}"] for name in _LISTS},
    )


def most_missed(scope: Scope, *, limit: int = 20) -> list[Name]:
    """Return the tools that were missed in the most turns."""
    found: Counter[str] = Counter()
    for missed in scope.selections().exclude(missed=[]).values_list("missed", flat=True).iterator(chunk_size=2_000):
        found.update(set(missed))
    return [Name(name, turns) for name, turns in sorted(found.items(), key=lambda each: (-each[1], each[0]))[:limit]]
