"""Send stored notifications. Each is claimed by one process; failed ones are retried, less and less often."""

import base64
import hashlib
import hmac
import logging
import smtplib
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.conf import settings
from django.core.mail import EmailMessage
from django.utils import timezone

from core import http
from core.background.poller import run_in_background
from core.database.deadlines import Deadline
from notifications.models import Notification

log = logging.getLogger(__name__)

MINUTE = 60  # seconds
PAUSES = (MINUTE // 2, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * 60 * MINUTE, 6 * 60 * MINUTE, 12 * 60 * MINUTE)
LEASE = timedelta(minutes=2)  # after which a process that claimed one counts as dead
WEBHOOK_MS = 10_000
MAX_RESPONSE_BYTES = 10_000
MAX_SENT_AT_ONCE = 200
DAYS_KEPT = 30

State = Notification.State


class NotDelivered(Exception):
    """The message was not accepted. The message of the error can be shown: it has no addresses and no secrets."""


def send_when_due(at: datetime) -> bool:
    """Start to send what is due, as a periodic job. Returns False: the thread sends everything."""
    if _query_due(at).exists():
        run_in_background("notifications", send_due)
    return False


def send_due() -> int:
    """Send what is due and return how many were sent."""
    sent = 0
    for _ in range(MAX_SENT_AT_ONCE):
        notification = _claim_next(timezone.now())
        if notification is None:
            break
        sent += _send(notification)
    return sent


def send_again(notification: Notification, *, at: datetime) -> bool:
    """Put a failed notification back to be sent, with all tries. Return whether it had failed."""
    failed = Notification.objects.filter(pk=notification.pk, state=State.FAILED)
    return bool(failed.update(state=State.WAITING, attempts=0, next_try_at=at))


def delete_old(at: datetime) -> bool:
    """Delete notifications that were finished long ago, as a periodic job."""
    Notification.objects.exclude(state=State.WAITING).filter(created_at__lt=at - timedelta(days=DAYS_KEPT)).delete()
    return False


def _query_due(at: datetime) -> Any:
    return Notification.objects.filter(state=State.WAITING, next_try_at__lte=at)


def _claim_next(at: datetime) -> Notification | None:
    """Return the next one that is due, which no other process sends; None if there is none."""
    while True:
        notification: Notification | None = _query_due(at).order_by("next_try_at").first()
        if notification is None:
            return None
        # The process that moves the time forward sends it. If its process dies, it is due again after the lease.
        claimed = Notification.objects.filter(
            pk=notification.pk, state=State.WAITING, next_try_at=notification.next_try_at
        ).update(next_try_at=at + LEASE, attempts=notification.attempts + 1)
        if claimed:
            notification.attempts += 1
            return notification


def _send(notification: Notification) -> bool:
    try:
        if notification.channel == Notification.Channel.EMAIL:
            _send_email(notification)
        else:
            _call_webhook(notification)
    except NotDelivered as error:
        _record_failure(notification, str(error), timezone.now())
        return False
    Notification.objects.filter(pk=notification.pk).update(state=State.SENT, sent_at=timezone.now(), last_error="")
    return True


def _record_failure(notification: Notification, error: str, at: datetime) -> None:
    is_last = notification.attempts > len(PAUSES)
    log.warning(
        "notification.%s event=%s channel=%s attempt=%d error=%s",
        "given_up" if is_last else "failed",
        notification.event,
        notification.channel,
        notification.attempts,
        error,
    )
    pause = timedelta(seconds=PAUSES[min(notification.attempts, len(PAUSES)) - 1])
    Notification.objects.filter(pk=notification.pk).update(
        state=State.FAILED if is_last else State.WAITING, next_try_at=at + pause, last_error=error[:200]
    )


def _send_email(notification: Notification) -> None:
    if not settings.GATEWAY_SENDS_EMAIL:
        raise NotDelivered("EMAIL_URL is not set.")
    body = f"{notification.text}\n\n{notification.link}\n"
    try:
        EmailMessage(notification.subject, body, to=[notification.recipient]).send()
    except smtplib.SMTPResponseException as error:
        raise NotDelivered(f"The mail server answered {error.smtp_code}.") from None
    except (smtplib.SMTPException, OSError, ValueError) as error:
        raise NotDelivered(f"The mail server did not accept it: {type(error).__name__}.") from None


def _call_webhook(notification: Notification) -> None:
    if not settings.GATEWAY_NOTIFY_URL:
        raise NotDelivered("GATEWAY_NOTIFY_URL is not set.")
    body = orjson.dumps(
        {
            "type": notification.event,
            "timestamp": notification.created_at.isoformat(),
            "data": {
                "subject": notification.subject,
                "text": notification.text,
                "link": notification.link,
                "by": notification.by,
            },
        }
    )
    try:
        response = http.request(
            "POST",
            settings.GATEWAY_NOTIFY_URL,
            headers={"content-type": "application/json", **_sign(str(notification.pk), timezone.now(), body)},
            body=body,
            deadline=Deadline.after(milliseconds=WEBHOOK_MS),
            max_bytes=MAX_RESPONSE_BYTES,
            follow_redirects=False,
        )
    except http.OutgoingError as error:
        raise NotDelivered(f"The webhook did not accept it: {error}") from None
    if not 200 <= response.status < 300:
        raise NotDelivered(f"The webhook answered {response.status}.")


def _sign(id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of a signed webhook, as https://www.standardwebhooks.com specifies them."""
    timestamp = str(int(at.timestamp()))
    signed = f"{id}.{timestamp}.".encode() + body
    key = base64.b64decode(settings.GATEWAY_NOTIFY_SECRET.removeprefix("whsec_"))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{digest}"}
