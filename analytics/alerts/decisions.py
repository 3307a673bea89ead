"""When an alert opens, stays open and closes. Pure functions, which the job and the preview of a rule share.

An alert opens when its value is above the threshold and enough was counted. It closes when the value is clearly below
again, and was not above the threshold for ten minutes. Between both it stays as it is, so a value near the threshold
does not open it again and again. Without enough calls it stays open for a day.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from analytics.alerts.metrics import SLOW_SHARE, AlertMetric
from analytics.alerts.models import AlertRule

CLEAR_SHARE = 0.8  # of the threshold; a value up to this is clearly below
CLEAR_AFTER = timedelta(minutes=10)  # since the value was last above the threshold
FORGOTTEN_AFTER = timedelta(days=1)  # likewise, without enough calls to say that it is over


@dataclass(frozen=True, slots=True)
class Measurement:
    """The value of a metric, and the calls, searches or turns of which it is a share."""

    value: float
    count: int


NOTHING = Measurement(0.0, 0)


class AlertStep(StrEnum):
    """What a check does with an alert."""

    OPEN = "open"
    EXCEED = "exceed"  # it is open, and the value is above the threshold
    STAY = "stay"  # open or closed as it is
    CLOSE = "close"


def choose_step(rule: AlertRule, measurement: Measurement, *, exceeded_at: datetime | None, at: datetime) -> AlertStep:
    """Return what to do. `exceeded_at` is when the value of an open alert was last above the threshold, else None."""
    limit = get_limit(rule)
    is_enough = not rule.declaration.is_share or measurement.count >= rule.min_count
    if is_enough and measurement.value > limit:
        return AlertStep.OPEN if exceeded_at is None else AlertStep.EXCEED
    if exceeded_at is None:
        return AlertStep.STAY
    is_clear = is_enough and measurement.value <= limit * CLEAR_SHARE
    if at - exceeded_at >= (CLEAR_AFTER if is_clear else FORGOTTEN_AFTER):
        return AlertStep.CLOSE
    return AlertStep.STAY


def get_limit(rule: AlertRule) -> float:
    """Return the value above which a rule opens an alert: of slow calls, a share of them."""
    return SLOW_SHARE if rule.metric == AlertMetric.SLOW_CALLS else rule.threshold
