"""The metrics that rules can watch: what each counts, what it can be grouped by, and what to do about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.db import models

HOUR, DAY = 60, 24 * 60  # minutes
SLOW_SHARE = 5.0  # percent of calls; if more of them take longer than this, the 95th percentile does


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
    """A metric. `sentence` says what was measured; alert_text fills it in. `advice` says what to do.

    A share needs a minimum count; `counted` names what is counted. `max_minutes` is None for a state, which has no
    period.
    """

    metric: AlertMetric
    unit: Unit
    scopes: Sequence[AlertScope]
    max_minutes: int | None
    sentence: str
    advice: str
    counted: str = ""

    @property
    def is_share(self) -> bool:
        """Whether it is a share of what happened, which says little if little happened."""
        return bool(self.counted)


_CALLER = (AlertScope.OVERALL, AlertScope.CLIENT, AlertScope.COHORT, AlertScope.RELEASE)
_CALL = (AlertScope.OVERALL, AlertScope.OP, AlertScope.CONNECTION, *_CALLER[1:])

# Events are many, so their periods are short: each check reads the events of the period.
METRICS: Mapping[AlertMetric, MetricDeclaration] = {
    each.metric: each
    for each in (
        MetricDeclaration(
            AlertMetric.FAILED_CALLS,
            Unit.PERCENT,
            _CALL,
            6 * HOUR,
            "{value} of {count} calls failed",
            "Look at the failed calls. If the service fails, check its connection, or switch the op off for a while. "
            "If the args are wrong, correct what models read about the op.",
            "calls",
        ),
        MetricDeclaration(
            AlertMetric.SLOW_CALLS,
            Unit.MILLISECONDS,
            _CALL,
            6 * HOUR,
            "{value} of {count} calls took longer than {threshold}",
            "Look at the slow calls. If one service is slow, ask its owner, or lower its calls at a time.",
            "calls",
        ),
        MetricDeclaration(
            AlertMetric.UNKNOWN_NAMES,
            Unit.PERCENT,
            _CALLER,
            6 * HOUR,
            "{value} of {count} calls were of unknown names",
            "Look at the names. Add an alias for a name that models use again and again, or correct the prompt.",
            "calls",
        ),
        MetricDeclaration(
            AlertMetric.EMPTY_SEARCHES,
            Unit.PERCENT,
            _CALLER,
            6 * HOUR,
            "{value} of {count} searches found nothing",
            "Look at the searches. Add keywords to the op that they mean, or the op that is missing.",
            "searches",
        ),
        MetricDeclaration(
            AlertMetric.MISSED_TOOLS,
            Unit.PERCENT,
            _CALLER,
            DAY,
            "{value} of {count} reported turns called a tool that they were not given",
            "Look at the missed tools. Pin them, or give fewer users the dynamic selection.",
            "reported turns",
        ),
        MetricDeclaration(
            AlertMetric.LOOPS,
            Unit.PERCENT,
            _CALLER,
            DAY,
            "{value} of {count} turns made the same call three times or more",
            "Look at the turns. A loop often means that an answer or an error does not say what to do next.",
            "turns",
        ),
        MetricDeclaration(
            AlertMetric.SPENDING,
            Unit.DOLLARS,
            _CALLER,
            DAY,
            "{value} were spent on the tokens of {count} reported turns",
            "Look at the turns with the most tokens. Shorten the help of ops that are read often, or use fewer pins.",
        ),
        MetricDeclaration(
            AlertMetric.LOST_EVENTS,
            Unit.COUNT,
            (AlertScope.OVERALL,),
            DAY,
            "{value} operation event{s} could not be written",
            "Check the database: the log has each loss as events.lost. Reports lack these calls.",
        ),
        MetricDeclaration(
            AlertMetric.CHANGED_UPSTREAM,
            Unit.COUNT,
            (AlertScope.CONNECTION,),
            None,
            "{value} operation{s} changed upstream or {are} gone",
            "Review the changes of the connection and approve them. Until then, calls send what was imported.",
        ),
        MetricDeclaration(
            AlertMetric.LOCKED_SIGN_INS,
            Unit.COUNT,
            (AlertScope.OVERALL,),
            None,
            "{value} account{s} or address{es} {are} locked after wrong passwords",
            "Look at the failed sign-ins. Unlock a colleague; many addresses or accounts may be an attack.",
        ),
    )
}
