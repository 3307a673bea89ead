"""The job that checks all rules each minute: it opens alerts, follows the open ones, and closes them.

An alert opens once and sends one message. The audit log has when it opened and closed, and why.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
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
AlertByName = Mapping[str, Alert]


def check_alerts(at: datetime) -> bool:
    """Open, follow and close the alerts of all rules, by what happened in the last minutes."""
    open_alerts: dict[int, dict[str, Alert]] = {}
    for alert in Alert.objects.filter(closed_at=None).select_related("rule"):
        open_alerts.setdefault(alert.rule_id, {})[alert.scope_value] = alert
    rules = AlertRule.objects.filter(is_on=True)
    for rule, measured in measurements.measure_rules(rules, at=at):
        _check_rule(rule, measured, open_alerts.pop(rule.pk, {}), at)
    for alerts in open_alerts.values():
        _close(dict.fromkeys(alerts.values(), alert_text.SWITCHED_OFF), at)
    return False


def _check_rule(rule: AlertRule, measured: MeasurementByName, open_alerts: AlertByName, at: datetime) -> None:
    closing: dict[Alert, str] = {}
    for name, alert in open_alerts.items():
        measurement = measured.get(name, NOTHING)
        step = choose_step(rule, measurement, exceeded_at=alert.exceeded_at, at=at)
        _follow(alert, measurement, is_exceeding=step == AlertStep.EXCEED, at=at)
        if not rule.matches(name):
            closing[alert] = alert_text.SWITCHED_OFF
        elif step == AlertStep.CLOSE:
            closing[alert] = alert_text.describe_closing(rule, measurement)
    opening = [
        (name, measurement)
        for name, measurement in measured.items()
        if name not in open_alerts and choose_step(rule, measurement, exceeded_at=None, at=at) == AlertStep.OPEN
    ]
    if not (open_alerts or opening):
        return
    opening.sort(key=lambda each: (-each[1].value, -each[1].count, each[0]))
    with transaction.atomic():
        Alert.objects.bulk_update(open_alerts.values(), FOLLOWED_FIELDS)
        _close(closing, at)
        _end_silences([alert for alert in open_alerts.values() if alert not in closing], at)
        _open(rule, opening[: max(0, MAX_OPEN - len(open_alerts))], at)


def _follow(alert: Alert, measurement: Measurement, *, is_exceeding: bool, at: datetime) -> None:
    alert.value, alert.count = measurement.value, measurement.count
    if is_exceeding:
        alert.exceeded_at = at
        if measurement.value > alert.worst_value:
            alert.worst_value, alert.worst_count = measurement.value, measurement.count


def _open(rule: AlertRule, measured: Sequence[tuple[str, Measurement]], at: datetime) -> None:
    """Open alerts. One whose last alert is still silenced is silenced as well, and sends nothing."""
    names = [name for name, _ in measured]
    silenced = {
        alert.scope_value: alert
        for alert in rule.alerts.filter(scope_value__in=names, silenced_until__gt=at).order_by("opened_at", "pk")
    }
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
            **_copy_silence(silenced.get(name)),
        )
        for name, measurement in measured
    ]
    for alert in Alert.objects.bulk_create(alerts):
        _record(alert, is_open=True, note=alert_text.describe_worst(alert), at=at)
    alert_messages.send_opened([alert for alert in alerts if alert.scope_value not in silenced], at=at)


def _copy_silence(alert: Alert | None) -> dict[str, object]:
    names = ("silenced_until", "silence_reason", "silenced_by")
    return {name: getattr(alert, name) for name in names} if alert else {}


def _close(reasons: Mapping[Alert, str], at: datetime) -> None:
    with transaction.atomic():
        for alert, reason in reasons.items():
            alert.closed_at = at
            alert.save(update_fields=["closed_at"])
            _record(alert, is_open=False, note=reason, at=at)
        alert_messages.send_closed(reasons, at=at)


def _end_silences(alerts: Iterable[Alert], at: datetime) -> None:
    """End silences that are over, and remind of the alerts that are still open."""
    over = [alert for alert in alerts if alert.silenced_until and alert.silenced_until <= at]
    for alert in over:
        alert.silenced_until, alert.silence_reason, alert.silenced_by = None, "", ""
        alert.save(update_fields=["silenced_until", "silence_reason", "silenced_by"])
    alert_messages.send_reminders(over, at=at)


def _record(alert: Alert, *, is_open: bool, note: str, at: datetime) -> None:
    name = str(alert)[:200]
    states = {"is_open": not is_open}, {"is_open": is_open}
    audit_log.record_change("alert", name, *states, by=alert_messages.BY, at=at, note=note)
    log.warning("alert.%s name=%r value=%.3g", "opened" if is_open else "closed", name, alert.value)
