"""Silence an alert: it sends nothing, and does not stand among what needs attention, until a time."""

from datetime import datetime

from django.db import transaction

from analytics.alerts import alert_text
from analytics.alerts.models import Alert
from audit import audit_log


class AlertClosed(Exception):
    """The alert has closed, so there is nothing to silence."""


@transaction.atomic
def silence_alert(alert: Alert, *, until: datetime, reason: str, by: str, at: datetime) -> None:
    """Silence an open alert until a time. Raises AlertClosed."""
    _set_silence(alert, until, reason, by)
    values = {"silenced_until": None}, {"silenced_until": until.isoformat(timespec="minutes")}
    audit_log.record_change("alert", alert_text.name_alert(alert), *values, by=by, at=at, note=reason)


@transaction.atomic
def end_silence(alert: Alert, *, by: str, at: datetime) -> None:
    """Let an open alert send messages again. Raises AlertClosed."""
    _set_silence(alert, None, "", "")
    values = {"is_silenced": True}, {"is_silenced": False}
    audit_log.record_change("alert", alert_text.name_alert(alert), *values, by=by, at=at)


def _set_silence(alert: Alert, until: datetime | None, reason: str, by: str) -> None:
    rows = Alert.objects.filter(pk=alert.pk, closed_at=None)
    if not rows.update(silenced_until=until, silence_reason=reason, silenced_by=by):
        raise AlertClosed(f"{alert_text.name_alert(alert)} has closed in the meantime.")
