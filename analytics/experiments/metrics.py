"""What experiments, guardrails and comparisons measure: each metric is one sum of a subject over another.

A metric is summed from one kind of rows: the figures of subjects, turns, what chat services report of turns, or what
end users think of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db.models import Count, Model, Q, Sum

from analytics.rollups.models import SubjectFigures
from analytics.turns.models import TURN_CONDITIONS, Feedback, ToolSelection, Turn, TurnWith
from analytics.turns.prices import build_dollars


class MetricUnit(StrEnum):
    """How the figure of a metric is written."""

    SHARE = "share"  # 0 to 1, shown in percent; differences in points
    RATE = "rate"  # times per one of the denominator
    MILLISECONDS = "ms"
    TOKENS = "tokens"
    DOLLARS = "dollars"


@dataclass(frozen=True, slots=True)
class Metric:
    """One sum over another. `numerator` and `denominator` are aggregates of the source's rows, for one subject."""

    name: str
    title: str
    of: str  # what the denominator counts, in words
    source: type[Model]
    numerator: Any
    denominator: Any
    lower_is_better: bool
    unit: MetricUnit = MetricUnit.SHARE


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that metrics are summed from: when a row happened, and how many of a subject count in full."""

    time: str
    size: Any  # an aggregate: how much of it a subject has, for the limit


SOURCES: Mapping[type[Model], Source] = {
    SubjectFigures: Source("begin", Sum("calls")),
    Turn: Source("time", Count("id")),
    ToolSelection: Source("time", Count("id")),
    Feedback: Source("time", Count("id")),
}
_SUCCEEDED = Q(outcome=ToolSelection.Outcome.SUCCEEDED)


def _count(condition: Q) -> Count:
    return Count("id", filter=condition)


_METRICS = (
    Metric("failure_rate", "Failure rate", "calls", SubjectFigures, Sum("failed"), Sum("calls"), True),
    Metric(
        "first_call_success",
        "Turns whose first call succeeded",
        "turns with a call",
        Turn,
        _count(Q(is_first_call_ok=True)),
        _count(Q(is_first_call_ok__isnull=False)),
        False,
    ),
    Metric(
        "turn_success",
        "Turns with a successful call",
        "turns with a call",
        Turn,
        _count(TURN_CONDITIONS[TurnWith.SUCCESS]),
        _count(TURN_CONDITIONS[TurnWith.CALL]),
        False,
    ),
    Metric("invalid_rate", "Validation errors", "calls", SubjectFigures, Sum("invalid"), Sum("calls"), True),
    Metric("repair_rate", "Repair rate", "failed calls", SubjectFigures, Sum("repaired"), Sum("failed"), False),
    Metric(
        "unknown_names",
        "Unknown names per call",
        "calls",
        SubjectFigures,
        Sum("unknown_names"),
        Sum("calls"),
        True,
        MetricUnit.RATE,
    ),
    Metric(
        "help_per_call",
        "Help reads per call",
        "calls",
        SubjectFigures,
        Sum("helps"),
        Sum("calls"),
        True,
        MetricUnit.RATE,
    ),
    Metric(
        "miss_rate", "Searches that found nothing", "searches", SubjectFigures, Sum("misses"), Sum("searches"), True
    ),
    Metric(
        "unknown_turns",
        "Turns with an unknown name",
        "turns",
        Turn,
        _count(TURN_CONDITIONS[TurnWith.UNKNOWN_NAME]),
        Count("id"),
        True,
    ),
    Metric("loop_rate", "Turns with a loop", "turns", Turn, _count(TURN_CONDITIONS[TurnWith.LOOP]), Count("id"), True),
    Metric("calls_per_turn", "Calls per turn", "turns", Turn, Sum("calls"), Count("id"), True, MetricUnit.RATE),
    Metric(
        "tokens_per_success",
        "Tokens per succeeding turn",
        "succeeding turns",
        ToolSelection,
        Sum("tokens"),
        _count(_SUCCEEDED),
        True,
        MetricUnit.TOKENS,
    ),
    Metric(
        "dollars_per_turn",
        "Dollars per turn",
        "reported turns",
        ToolSelection,
        build_dollars,
        _count(Q(tokens__isnull=False)),
        True,
        MetricUnit.DOLLARS,
    ),
    Metric(
        "latency",
        "Latency of a call",
        "calls",
        SubjectFigures,
        Sum("latency_ms"),
        Sum("calls"),
        True,
        MetricUnit.MILLISECONDS,
    ),
    Metric("thumbs_up", "Thumbs up", "rated turns", Feedback, _count(Q(thumb=Feedback.Thumb.UP)), Count("id"), False),
    Metric(
        "outcome",
        "Turns that succeeded, by the chat",
        "turns with an outcome",
        ToolSelection,
        _count(_SUCCEEDED),
        _count(~Q(outcome=ToolSelection.Outcome.UNKNOWN)),
        False,
    ),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _METRICS}
FAILURE_RATE = METRICS["failure_rate"]
