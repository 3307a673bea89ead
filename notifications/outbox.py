"""Notify people and services of events: rows that a job sends after the transaction."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from core import logs
from core.background import task_queue
from core.background.poller import run_in_background
from notifications.models import Notification

log = logging.getLogger(__name__)

TASK_NAME = "notifications.send"  # in notifications/tasks.py

Channel = Notification.Channel


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """What happened, in words: `event` names it for programs, `path` is the page of the gateway to open.

    `details` are JSON values for programs, which the webhook gets as well.
    """

    event: str
    subject: str
    text: str
    path: str
    by: str
    details: dict[str, Any] = field(default_factory=dict)


def notify(message: OutgoingMessage, *, recipients: Iterable[str], at: datetime) -> list[Notification]:
    """Store a message for each e-mail address, the webhook and the chat tool, if they are configured. Wake a worker."""
    link = f"{settings.GATEWAY_URL}{message.path}"
    addresses = list(dict.fromkeys(filter(None, recipients))) if settings.GATEWAY_SENDS_EMAIL else []
    targets = [(Channel.EMAIL, address) for address in addresses]
    targets += [(Channel.WEBHOOK, "")] if settings.GATEWAY_NOTIFY_URL else []
    targets += [(Channel.CHAT, "")] if settings.GATEWAY_NOTIFY_CHAT_URL else []
    rows = Notification.objects.bulk_create(
        Notification(
            channel=channel,
            recipient=recipient,
            event=message.event,
            subject=message.subject[:200],
            text=message.text,
            link=link[:500],
            details=message.details,
            by=message.by[:150],
            held_until=Now(),
            created_at=at,
        )
        for channel, recipient in targets
    )
    if rows:
        transaction.on_commit(wake_worker)
    return rows


def wake_worker() -> None:
    """Send a message to the broker from a separate thread: no request waits for it, and a job finds lost ones."""
    run_in_background("notifications", _send_message)


def _send_message() -> None:
    try:
        task_queue.send(TASK_NAME)
    except Exception as error:  # each broker has its own errors
        log.warning("notification.broker_unavailable\n%s", logs.format_safely(error))
