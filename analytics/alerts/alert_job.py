"""The job that checks all rules each minute: it opens alerts, follows the open ones, and closes them.

An alert opens once and sends one message. The audit log has when it opened and closed, and why.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from analytics.alerts import alert_messages, alert_text, measurements
from analytics.alerts.decisions import NOTHING, AlertStep, Measurement, choose_step
from analytics.alerts.measurements import MeasurementByName
from analytics.alerts.models import Alert, AlertRule
from audit import audit_log

log = logging.getLogger(__name__)

MAX_OPEN = 100  # alerts of a rule; if a service fails, hundreds of its ops fail
FOLLOWED_FIELDS = ["value", "count", "worst_value", "worst_count", "exceeded_at"]
SILENCE_FIELDS = ["silenced_until", "silence_reason", "silenced_by"]
AlertByName = Mapping[str, Alert]


@dataclass(slots=True)
class AlertChanges:
    """What a check changed: the reasons by alert."""

    opened: dict[Alert, str] = field(default_factory=dict)
    closed: dict[Alert, str] = field(default_factory=dict)
    unsilenced: dict[Alert, str] = field(default_factory=dict)  # still open when their silence ended, or unannounced


def check_alerts(at: datetime) -> bool:
    """Open, follow and close the alerts of all rules, by what happened in the last minutes."""
    open_alerts: dict[int, dict[str, Alert]] = {}
    for alert in Alert.objects.filter(closed_at=None).select_related("rule"):
        open_alerts.setdefault(alert.rule_id, {})[alert.scope_value] = alert
    measured = measurements.measure_rules(AlertRule.objects.filter(is_on=True), at=at)
    with transaction.atomic():
        changes = AlertChanges()
        for rule, by_name in measured:
            _check_rule(rule, by_name, open_alerts.pop(rule.pk, {}), changes, at)
        left = [alert for alerts in open_alerts.values() for alert in alerts.values()]
        _close(dict.fromkeys(left, alert_text.SWITCHED_OFF), changes, at)
        alert_messages.send_opened(changes.opened, at=at)
        alert_messages.send_reminders(changes.unsilenced, at=at)
        announced = [alert.pk for alert in (*changes.opened, *changes.unsilenced) if alert.rule.notify]
        Alert.objects.filter(pk__in=announced).update(is_announced=True)
        alert_messages.send_closed(changes.closed, at=at)
    return False


@transaction.atomic
def close_alerts(rule: AlertRule, *, at: datetime) -> None:
    """Close the open alerts of a rule that is deleted."""
    changes = AlertChanges()
    open_alerts = rule.alerts.filter(closed_at=None).select_related("rule")
    _close(dict.fromkeys(open_alerts, alert_text.SWITCHED_OFF), changes, at)
    alert_messages.send_closed(changes.closed, at=at)


def _check_rule(
    rule: AlertRule, measured: MeasurementByName, open_alerts: AlertByName, changes: AlertChanges, at: datetime
) -> None:
    closing: dict[Alert, str] = {}
    for name, alert in open_alerts.items():
        measurement = measured.get(name, NOTHING)
        step = choose_step(rule, measurement, exceeded_at=alert.exceeded_at, at=at)
        _follow(alert, measurement, is_exceeding=step == AlertStep.EXCEED, at=at)
        if not rule.matches(name):
            closing[alert] = alert_text.SWITCHED_OFF
        elif step == AlertStep.CLOSE:
            closing[alert] = alert_text.describe_closing(rule, measurement)
    Alert.objects.bulk_update(open_alerts.values(), FOLLOWED_FIELDS)
    _close(closing, changes, at)
    _end_silences([alert for alert in open_alerts.values() if alert not in closing], changes, at)
    opening = [
        (name, measurement)
        for name, measurement in measured.items()
        if name not in open_alerts and choose_step(rule, measurement, exceeded_at=None, at=at) == AlertStep.OPEN
    ]
    opening.sort(key=lambda each: (-each[1].value, -each[1].count, each[0]))
    _open(rule, opening[: max(0, MAX_OPEN - len(open_alerts))], changes, at)


def _follow(alert: Alert, measurement: Measurement, *, is_exceeding: bool, at: datetime) -> None:
    alert.value, alert.count = measurement.value, measurement.count
    if is_exceeding:
        alert.exceeded_at = at
        if measurement.value > alert.worst_value:
            alert.worst_value, alert.worst_count = measurement.value, measurement.count


def _open(rule: AlertRule, measured: Sequence[tuple[str, Measurement]], changes: AlertChanges, at: datetime) -> None:
    """Open alerts. One whose last alert is still silenced is silenced as well, and sends nothing."""
    names = [name for name, _ in measured]
    past = rule.alerts.filter(scope_value__in=names, silenced_until__gt=at).order_by("opened_at", "pk")
    silences = {row.pop("scope_value"): row for row in past.values("scope_value", *SILENCE_FIELDS)}
    alerts = [
        Alert(
            rule=rule,
            scope_value=name,
            opened_at=at,
            exceeded_at=at,
            value=measurement.value,
            count=measurement.count,
            worst_value=measurement.value,
            worst_count=measurement.count,
            **silences.get(name, {}),
        )
        for name, measurement in measured
    ]
    reasons = {alert: alert_text.describe_latest(alert) for alert in Alert.objects.bulk_create(alerts)}
    _record(reasons, is_open=True, at=at)
    changes.opened |= {alert: reason for alert, reason in reasons.items() if not alert.is_silenced}


def _close(reasons: Mapping[Alert, str], changes: AlertChanges, at: datetime) -> None:
    for alert in reasons:
        alert.closed_at = at
    Alert.objects.bulk_update(reasons, ["closed_at"])
    _record(reasons, is_open=False, at=at)
    changes.closed |= {alert: reason for alert, reason in reasons.items() if alert.is_announced}


def _end_silences(alerts: Collection[Alert], changes: AlertChanges, at: datetime) -> None:
    """End silences that are over. Whoever was not told that an alert opened is told that it is open."""
    over = [alert for alert in alerts if alert.silenced_until and alert.silenced_until <= at]
    for alert in over:
        alert.silenced_until, alert.silence_reason, alert.silenced_by = None, "", ""
    Alert.objects.bulk_update(over, SILENCE_FIELDS)
    late = [alert for alert in alerts if alert.rule.notify and not (alert.is_silenced or alert.is_announced)]
    changes.unsilenced |= {alert: alert_text.describe_latest(alert) for alert in dict.fromkeys([*over, *late])}


def _record(reasons: Mapping[Alert, str], *, is_open: bool, at: datetime) -> None:
    states = {"is_open": not is_open}, {"is_open": is_open}
    for alert, title in alert_text.name_alerts(reasons).items():
        audit_log.record_change("alert", title, *states, by=alert_messages.BY, at=at, note=reasons[alert])
        log.warning("alert.%s name=%r value=%.3g", "opened" if is_open else "closed", title, alert.value)
