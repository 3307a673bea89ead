"""Messages about alerts: by e-mail and webhook when they open, by webhook alone when they close."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.urls import reverse

from analytics.alerts import alert_text
from analytics.alerts.models import Alert, AlertRule
from notifications import outbox
from notifications.outbox import OutgoingMessage
from notifications.recipients import find_emails

BY = "alerts"
OPENED, CLOSED, REMINDED = "alert.opened", "alert.closed", "alert.still_open"  # of the webhook
PERMISSION = "analytics.change_alert"  # of those who get the e-mails
MAX_NAMED = 20  # alerts that one message names


def send_opened(alerts: Sequence[Alert], *, at: datetime) -> None:
    """Send one message about the alerts of a rule that opened."""
    lines = {alert: alert_text.describe_worst(alert) for alert in alerts}
    _send(OPENED, "", lines, find_emails(PERMISSION) if alerts else [], at)


def send_reminders(alerts: Sequence[Alert], *, at: datetime) -> None:
    """Send one message about the alerts of a rule whose silence is over, and that are still open."""
    lines = {alert: alert_text.describe_latest(alert) for alert in alerts}
    _send(REMINDED, "Still open: ", lines, find_emails(PERMISSION) if alerts else [], at)


def send_closed(reasons: Mapping[Alert, str], *, at: datetime) -> None:
    """Send one message about the alerts of a rule that closed. It is no e-mail: nobody has to do anything."""
    _send(CLOSED, "Closed: ", reasons, [], at)


def _send(event: str, prefix: str, lines: Mapping[Alert, str], addresses: Iterable[str], at: datetime) -> None:
    if not lines:
        return
    alerts = list(lines)
    rule = alerts[0].rule
    if not rule.notify:
        return
    title = str(alerts[0]) if len(alerts) == 1 else f"{rule.name}: {len(alerts):,} alerts"
    named = [f"{alert}. {line}" for alert, line in lines.items()][:MAX_NAMED]
    if left := len(alerts) - len(named):
        named.append(f"And {left:,} more.")
    to_do = [] if event == CLOSED else [text for text in (f"What to do: {rule.declaration.advice}", rule.note) if text]
    outbox.notify(
        OutgoingMessage(
            event=event,
            subject=f"{prefix}{title}",
            text="\n".join([*named, *to_do]),
            path=reverse("admin:alerts"),
            by=BY,
            details={"rule": rule.name, "alerts": [_describe_for_programs(alert) for alert in alerts]},
        ),
        recipients=addresses,
        at=at,
    )


def _describe_for_programs(alert: Alert) -> dict[str, Any]:
    rule: AlertRule = alert.rule
    return {
        "id": alert.pk,
        "metric": rule.metric,
        "scope": rule.scope,
        "name": alert.scope_value,
        "value": alert.value,
        "count": alert.count,
        "threshold": rule.threshold,
        "minutes": rule.minutes,
        "opened_at": alert.opened_at.isoformat(),
        "closed_at": alert.closed_at.isoformat() if alert.closed_at else None,
    }
