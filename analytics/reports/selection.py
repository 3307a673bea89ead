"""Tool selection: which tools models were given and which they used, as reported by chat services."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import (
    Avg,
    BooleanField,
    Count,
    Exists,
    F,
    Func,
    IntegerField,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    Value,
)

from analytics.flags import DYNAMIC, STATIC
from analytics.reports.report_filter import ReportFilter
from analytics.turns.models import ToolSelection

HAS_MISS = ~Q(missed=[])
HAS_ESCALATION = ~Q(escalated=[])
MISSED_TOOL_PARAMETER = "missed_tool"  # query parameter of the list of tool selections


class MissedTool(NamedTuple):
    """A tool that was called but not in the toolset, and the number of turns."""

    name: str
    turns: int


@dataclass(frozen=True, slots=True)
class SelectionTotals:
    """Totals of the reported turns. `loaded`, `used`, `missed` and `escalated` count tools."""

    turns: int
    loaded: int
    used: int
    missed: int
    escalated: int
    turns_with_miss: int  # turns with a tool miss
    turns_with_escalation: int  # turns with an escalation
    tokens: float | None  # average per turn, over the turns that report tokens
    outcomes: dict[str, int]  # turns by outcome for the user

    @property
    def used_rate(self) -> float | None:
        """Tools used as a share of tools loaded, 0 to 1."""
        return self.used / self.loaded if self.loaded else None

    @property
    def miss_rate(self) -> float | None:
        """Share of turns with a tool miss, 0 to 1."""
        return self.turns_with_miss / self.turns if self.turns else None

    @property
    def escalation_rate(self) -> float | None:
        """Share of turns with an escalation, 0 to 1."""
        return self.turns_with_escalation / self.turns if self.turns else None


@dataclass(frozen=True, slots=True)
class SelectionKindFigures:
    """One kind of selection: static or dynamic. Unknown names are those that models called or read in its turns."""

    kind: str
    totals: SelectionTotals
    unknown_per_thousand: float | None  # per 1,000 calls

    @property
    def loaded_per_turn(self) -> float | None:
        """Tools loaded per turn, on average."""
        return self.totals.loaded / self.totals.turns if self.totals.turns else None


class _JSONArrayLength(Func):
    """SQL function: the length of a JSON list."""

    function = "JSONB_ARRAY_LENGTH"
    output_field = IntegerField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, function="JSON_ARRAY_LENGTH", **more)


class _JSONArrayContains(Func):
    """SQL condition: whether a JSON list contains a text."""

    function = "JSONB_EXISTS"
    output_field = BooleanField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "EXISTS (SELECT 1 FROM JSON_EACH(%(expressions)s)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") WHERE value = ", **more)


def match_missed_tool(name: str) -> Q:
    """Return a condition for the tool selections that missed a tool."""
    return Q(_JSONArrayContains(F("missed"), Value(name)))


_LIST_FIELDS = ("loaded", "used", "missed", "escalated")


def compare_kinds(report_filter: ReportFilter) -> list[SelectionKindFigures]:
    """Return the figures of static and of dynamic selection, without kinds that no turn had."""
    kinds = []
    for kind in (STATIC, DYNAMIC):
        totals = _sum(report_filter.select_tool_selections().filter(selection_kind=kind))
        if totals.turns:
            kinds.append(SelectionKindFigures(kind, totals, _compute_unknown_per_thousand(report_filter, kind)))
    return kinds


def _compute_unknown_per_thousand(report_filter: ReportFilter, kind: str) -> float | None:
    same_turn = {name: OuterRef(name) for name in ("client", "session", "turn")}
    reported = ToolSelection.objects.filter(selection_kind=kind, **same_turn)
    totals = (
        report_filter.select_turns()
        .filter(Exists(reported))
        .aggregate(unknown=Sum("unknown_names", default=0), calls=Sum("calls", default=0))
    )
    return totals["unknown"] * 1000 / totals["calls"] if totals["calls"] else None


def sum_selections(report_filter: ReportFilter) -> SelectionTotals:
    """Return the totals of the tool selections in a scope."""
    return _sum(report_filter.select_tool_selections())


def _sum(rows: QuerySet[ToolSelection]) -> SelectionTotals:
    sums: dict[str, Any] = {name: Sum(_JSONArrayLength(name), default=0) for name in _LIST_FIELDS}
    outcomes = {str(each): Count("id", filter=Q(outcome=each)) for each in ToolSelection.Outcome}
    totals = rows.aggregate(
        turns=Count("id"),
        missing=Count("id", filter=HAS_MISS),
        escalating=Count("id", filter=HAS_ESCALATION),
        mean_tokens=Avg("tokens"),
        **{f"sum_{name}": each for name, each in sums.items()},
        **{f"outcome_{name}": each for name, each in outcomes.items()},
    )
    return SelectionTotals(
        turns=totals["turns"],
        turns_with_miss=totals["missing"],
        turns_with_escalation=totals["escalating"],
        tokens=totals["mean_tokens"],
        outcomes={name: totals[f"outcome_{name}"] for name in outcomes},
        **{name: totals[f"sum_{name}"] for name in _LIST_FIELDS},
    )


def list_most_missed(report_filter: ReportFilter, *, limit: int = 20) -> list[MissedTool]:
    """Return the tools that were missed in the most turns."""
    counts: Counter[str] = Counter()
    for missed in (
        report_filter.select_tool_selections()
        .filter(HAS_MISS)
        .values_list("missed", flat=True)
        .iterator(chunk_size=2_000)
    ):
        counts.update(set(missed))
    return [
        MissedTool(name, turns) for name, turns in sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:limit]
    ]
