"""The metrics that rules can watch, and what each can be grouped by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db import models

HOUR, DAY = 60, 24 * 60  # minutes


class AlertMetric(models.TextChoices):
    """What a rule watches."""

    FAILED_CALLS = "failed_calls", "Failed calls"
    SLOW_CALLS = "slow_calls", "Slow calls"
    UNKNOWN_NAMES = "unknown_names", "Calls of unknown names"
    EMPTY_SEARCHES = "empty_searches", "Searches without a result"
    MISSED_TOOLS = "missed_tools", "Turns that miss a tool"
    LOOPS = "loops", "Turns with a loop"
    SPENDING = "spending", "Spending on tokens"
    LOST_EVENTS = "lost_events", "Lost events"
    CHANGED_UPSTREAM = "changed_upstream", "Operations changed upstream"
    LOCKED_SIGN_INS = "locked_sign_ins", "Locked sign-ins"


class AlertScope(models.TextChoices):
    """What a rule looks at separately. Never a subject: pages and messages would name end users."""

    OVERALL = "overall", "everything together"
    OP = "op", "each op"
    CONNECTION = "connection", "each connection"
    CLIENT = "client", "each client"
    COHORT = "cohort", "each cohort"
    RELEASE = "release", "each release"


class Unit(StrEnum):
    """The unit of a threshold."""

    PERCENT = "%"
    MILLISECONDS = "ms"
    DOLLARS = "$"
    COUNT = ""


@dataclass(frozen=True, slots=True)
class MetricDeclaration:
    """A metric: the unit of its thresholds, what it can be grouped by, and the longest period in minutes.

    A share needs a minimum count; `counted` names what is counted. `max_minutes` is None for a state, which has no
    period.
    """

    metric: AlertMetric
    unit: Unit
    scopes: Sequence[AlertScope]
    max_minutes: int | None
    counted: str = ""

    @property
    def is_share(self) -> bool:
        """Whether it is a share of what happened, which says little if little happened."""
        return bool(self.counted)


_CALLER = (AlertScope.OVERALL, AlertScope.CLIENT, AlertScope.COHORT, AlertScope.RELEASE)
_CALL = (
    AlertScope.OVERALL,
    AlertScope.OP,
    AlertScope.CONNECTION,
    AlertScope.CLIENT,
    AlertScope.COHORT,
    AlertScope.RELEASE,
)

# Events are many, so their periods are short: each minute reads the events of the period.
METRICS: Mapping[AlertMetric, MetricDeclaration] = {
    each.metric: each
    for each in (
        MetricDeclaration(AlertMetric.FAILED_CALLS, Unit.PERCENT, _CALL, 6 * HOUR, "calls"),
        MetricDeclaration(AlertMetric.SLOW_CALLS, Unit.MILLISECONDS, _CALL, 6 * HOUR, "calls"),
        MetricDeclaration(AlertMetric.UNKNOWN_NAMES, Unit.PERCENT, _CALLER, 6 * HOUR, "calls"),
        MetricDeclaration(AlertMetric.EMPTY_SEARCHES, Unit.PERCENT, _CALLER, 6 * HOUR, "searches"),
        MetricDeclaration(AlertMetric.MISSED_TOOLS, Unit.PERCENT, _CALLER, DAY, "reported turns"),
        MetricDeclaration(AlertMetric.LOOPS, Unit.PERCENT, _CALLER, DAY, "turns"),
        MetricDeclaration(AlertMetric.SPENDING, Unit.DOLLARS, _CALLER, DAY),
        MetricDeclaration(AlertMetric.LOST_EVENTS, Unit.COUNT, (AlertScope.OVERALL,), DAY),
        MetricDeclaration(AlertMetric.CHANGED_UPSTREAM, Unit.COUNT, (AlertScope.CONNECTION,), None),
        MetricDeclaration(AlertMetric.LOCKED_SIGN_INS, Unit.COUNT, (AlertScope.OVERALL,), None),
    )
}
