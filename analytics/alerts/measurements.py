"""Measure the metrics of rules: one SQL statement a table and period, grouped by what the rules look at separately."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from django.db.models import Aggregate, Case, Count, F, FloatField, Func, Model, Q, QuerySet, Sum, Value, When

from analytics.alerts.decisions import NOTHING, Measurement
from analytics.alerts.metrics import AlertMetric, AlertScope
from analytics.alerts.models import AlertRule
from analytics.alerts.registry_readers import get_readers
from analytics.events.event_filters import CALL, FAILED_CALL, MISS, SEARCH
from analytics.events.models import UNKNOWN_OP, EventLoss, OperationEvent
from analytics.reports import selection
from analytics.turns.models import TURN_CONDITIONS, ToolSelection, Turn, TurnWith
from analytics.turns.prices import build_dollars
from core.sign_in import throttle

MeasurementByName = dict[str, Measurement]  # by op, connection, …; "" for everything together


@dataclass(frozen=True, slots=True)
class Parts:
    """What is counted for a rule, and of how much; of two groups, both add up."""

    hits: Aggregate
    count: Aggregate


def _count(condition: Q | None = None) -> Aggregate:
    return Count("id", filter=condition)


# Of each metric that has a period: the rows that it counts, and what it counts.
_PARTS: Mapping[AlertMetric, tuple[type[Model], Callable[[AlertRule], Parts]]] = {
    AlertMetric.FAILED_CALLS: (OperationEvent, lambda _: Parts(_count(FAILED_CALL), _count(CALL))),
    AlertMetric.SLOW_CALLS: (
        OperationEvent,
        lambda rule: Parts(_count(CALL & Q(latency_ms__gt=rule.threshold)), _count(CALL)),
    ),
    AlertMetric.UNKNOWN_NAMES: (OperationEvent, lambda _: Parts(_count(CALL & Q(reason=UNKNOWN_OP)), _count(CALL))),
    AlertMetric.EMPTY_SEARCHES: (OperationEvent, lambda _: Parts(_count(MISS), _count(SEARCH))),
    AlertMetric.MISSED_TOOLS: (ToolSelection, lambda _: Parts(_count(selection.HAS_MISS), _count())),
    AlertMetric.LOOPS: (Turn, lambda _: Parts(_count(TURN_CONDITIONS[TurnWith.LOOP]), _count())),
    AlertMetric.SPENDING: (ToolSelection, lambda _: Parts(build_dollars(), _count())),
    AlertMetric.LOST_EVENTS: (EventLoss, lambda _: Parts(Sum("count", default=0), Sum("count", default=0))),
}
_COUNTED_EVENT = CALL | SEARCH
_COLUMNS = {
    AlertScope.OP: "named_op",
    AlertScope.CONNECTION: "named_op",
    AlertScope.CLIENT: "client",
    AlertScope.COHORT: "cohort",
    AlertScope.RELEASE: "release",
}
# There would be a group for every name that callers make up. They have no tool name.
_NAMED_OP = Case(When(~Q(tool_name=""), then=F("op")), default=Value(""))


def measure_rules(rules: Iterable[AlertRule], *, at: datetime) -> list[tuple[AlertRule, MeasurementByName]]:
    """Return each rule with its measurements at a time. What had no calls in the period of a rule is not in them."""
    measured: list[tuple[AlertRule, MeasurementByName]] = []
    by_period: defaultdict[tuple[type[Model], int], list[AlertRule]] = defaultdict(list)
    for rule in rules:
        if model := get_counted_model(rule):
            by_period[model, rule.minutes].append(rule)
        else:
            measured.append((rule, _measure_state(rule, at)))
    for (model, minutes), same_rows in by_period.items():
        rows = select_rows(model, since=at - timedelta(minutes=minutes), until=at)
        [(_, sums)] = sum_by_step(rows, same_rows) or [(0, [{} for _ in same_rows])]
        for rule, sums_by_name in zip(same_rows, sums, strict=True):
            measured.append((rule, {name: each.measure(rule) for name, each in sums_by_name.items()}))
    return measured


def get_counted_model(rule: AlertRule) -> type[Model] | None:
    """Return the rows that a rule counts; None if it watches a state, which has no past."""
    return _PARTS[AlertMetric(rule.metric)][0] if rule.metric in _PARTS else None


def select_rows(model: type[Model], *, since: datetime, until: datetime) -> QuerySet[Any]:
    """Return the rows of a period that rules count."""
    rows: QuerySet[Any] = model._default_manager.filter(time__gt=since, time__lte=until).order_by()
    return rows.filter(_COUNTED_EVENT) if model is OperationEvent else rows


def _measure_state(rule: AlertRule, at: datetime) -> MeasurementByName:
    if rule.metric == AlertMetric.LOCKED_SIGN_INS:
        return {"": Measurement(throttle.count_locks(at), 0)}
    changed = get_readers().count_changed()
    return {name: Measurement(count, count) for name, count in changed.items() if rule.matches(name)}


@dataclass(frozen=True, slots=True)
class PartSums:
    """Sums of what is counted for a rule, and of how much."""

    hits: float = 0.0
    count: int = 0

    def add(self, other: "PartSums") -> "PartSums":
        """Return both together."""
        return PartSums(self.hits + other.hits, self.count + other.count)

    def subtract(self, other: "PartSums") -> "PartSums":
        """Return these without those."""
        return PartSums(self.hits - other.hits, self.count - other.count)

    def measure(self, rule: AlertRule) -> Measurement:
        """Return the value, in the unit of the metric."""
        if not rule.declaration.is_share:
            return Measurement(self.hits, self.count)
        return Measurement(100 * self.hits / self.count, self.count) if self.count else NOTHING


SumsByName = dict[str, PartSums]


class _StepNumber(Func):
    """SQL: the number of steps of some seconds from 1970 to a time."""

    template = "FLOOR(EXTRACT(EPOCH FROM %(expressions)s) / %(seconds)d)"
    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="STRFTIME('%%%%s', %(expressions)s) / %(seconds)d", **more)


def sum_by_step(
    rows: QuerySet[Any], rules: Sequence[AlertRule], *, step_seconds: int = 0
) -> list[tuple[int, list[SumsByName]]]:
    """Return (number of the step since 1970, sums of each rule by name) of each step with rows, in order of time.

    The rules count the same rows. Without `step_seconds` there is one step.
    """
    parts = [_PARTS[AlertMetric(rule.metric)][1](rule) for rule in rules]
    columns = sorted({_COLUMNS[AlertScope(rule.scope)] for rule in rules if rule.scope != AlertScope.OVERALL})
    if "named_op" in columns:
        rows = rows.annotate(named_op=_NAMED_OP)
    # Rules that differ only in their scope share what the database counts.
    aggregates = dict.fromkeys(aggregate for each in parts for aggregate in (each.hits, each.count))
    columns_by_aggregate = {aggregate: f"sum_{index}" for index, aggregate in enumerate(aggregates)}
    groups: list[Any] = list(
        rows.annotate(step=_StepNumber("time", seconds=step_seconds) if step_seconds else Value(0))
        .values("step", *columns)
        .annotate(**{column: aggregate for aggregate, column in columns_by_aggregate.items()})
    )
    has_connections = any(rule.scope == AlertScope.CONNECTION for rule in rules)
    connections = get_readers().map_connections({row["named_op"] for row in groups} - {""}) if has_connections else {}
    steps: defaultdict[int, list[SumsByName]] = defaultdict(lambda: [{} for _ in rules])
    for row in groups:
        for rule, part, sums in zip(rules, parts, steps[int(row["step"])], strict=True):
            hits, count = (row[columns_by_aggregate[aggregate]] for aggregate in (part.hits, part.count))
            added = PartSums(hits or 0, count)  # turns without tokens have no dollars
            for name in _list_names(rule, row, connections) if added.count else ():
                sums[name] = sums.get(name, PartSums()).add(added)
    return sorted(steps.items(), key=itemgetter(0))


def _list_names(rule: AlertRule, row: Mapping[str, Any], connections: Mapping[str, str]) -> list[str]:
    """Return what a group of rows belongs to: one op, one client, up to three cohorts, …"""
    if rule.scope == AlertScope.OVERALL:
        return [""]
    value: str = row[_COLUMNS[AlertScope(rule.scope)]]
    names = [connections.get(value, "")] if rule.scope == AlertScope.CONNECTION else [value]
    if rule.scope == AlertScope.COHORT:
        names = value.split()
    return [name for name in names if name and rule.matches(name)]
