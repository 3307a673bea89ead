"""Messages about alerts: by e-mail, webhook and chat when they open; by webhook and chat when they close.

All alerts that a check opened are one message: if a service fails, its ops, its clients and its releases fail.
"""

from collections.abc import Iterable, Mapping
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


def send_opened(reasons: Mapping[Alert, str], *, at: datetime) -> None:
    """Send one message about the alerts that a check opened."""
    _send(OPENED, reasons, at)


def send_reminders(reasons: Mapping[Alert, str], *, at: datetime) -> None:
    """Send one message about the alerts that are still open when their silence ends."""
    _send(REMINDED, reasons, at)


def send_closed(reasons: Mapping[Alert, str], *, at: datetime) -> None:
    """Send one message about the alerts that a check closed. It is no e-mail: nobody has to do anything."""
    _send(CLOSED, reasons, at)


_PREFIXES = {OPENED: "", REMINDED: "Still open: ", CLOSED: "Closed: "}


def _send(event: str, reasons: Mapping[Alert, str], at: datetime) -> None:
    titles = alert_text.name_alerts(alert for alert in reasons if alert.rule.notify)
    if not titles:
        return
    subject = next(iter(titles.values())) if len(titles) == 1 else f"{len(titles):,} alerts"
    lines = [f"{title}. {reasons[alert]}" for alert, title in titles.items()][:MAX_NAMED]
    if left := len(titles) - len(lines):
        lines.append(f"And {left:,} more.")
    if event != CLOSED:
        lines += _list_advice(alert.rule for alert in titles)
    message = OutgoingMessage(
        event=event,
        subject=f"{_PREFIXES[event]}{subject}",
        text="\n".join(lines),
        path=reverse("admin:alerts"),
        by=BY,
        details={"alerts": [_describe_for_programs(alert, title) for alert, title in titles.items()]},
    )
    outbox.notify(message, recipients=[] if event == CLOSED else find_emails(PERMISSION), at=at)


def _list_advice(rules: Iterable[AlertRule]) -> list[str]:
    """Return what to do about the alerts of rules, each sentence once."""
    rules = list(rules)
    advice = dict.fromkeys(rule.declaration.advice for rule in rules)
    return [f"What to do: {' '.join(advice)}", *dict.fromkeys(rule.note for rule in rules if rule.note)]


def _describe_for_programs(alert: Alert, title: str) -> dict[str, Any]:
    rule: AlertRule = alert.rule
    return {
        "id": alert.pk,
        "title": title,
        "rule": rule.name,
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
