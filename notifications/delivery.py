"""Send stored notifications. Each is claimed by one process; failed ones are retried, less and less often."""

import base64
import hashlib
import hmac
import logging
import smtplib
from collections.abc import Callable
from datetime import datetime, timedelta

import orjson
from django.conf import settings
from django.core.mail import EmailMessage
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from core import http
from core.background import leases
from core.background.poller import run_in_background
from core.background.retention import Expiring, Retention
from core.database.deadlines import Deadline
from notifications.models import Notification

log = logging.getLogger(__name__)

MINUTE = 60  # seconds
PAUSES = (MINUTE // 2, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * 60 * MINUTE, 6 * 60 * MINUTE, 12 * 60 * MINUTE)
LEASE = timedelta(minutes=2)
WEBHOOK_MS = 10_000
MAX_RESPONSE_BYTES = 10_000
MAX_SENT_AT_ONCE = 200
KEPT = timedelta(days=30)
# In the texts of chat tools, <!channel> would notify everyone. & is replaced first.
CHAT_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))

State = Notification.State


class NotDelivered(Exception):
    """The message was not accepted. The message of the error can be shown: it has no addresses and no secrets."""


def send_when_due(_: datetime) -> bool:
    """Send the notifications that are due, in the background. Returns False: the thread sends everything."""
    if _query_due().exists():
        run_in_background("notifications", send_due)
    return False


def send_due() -> int:
    """Send what is due and return how many were sent."""
    sent = 0
    for _ in range(MAX_SENT_AT_ONCE):
        notification = leases.claim(_query_due(), LEASE)
        if notification is None:
            break
        with leases.keep(notification, LEASE):
            sent += _send(notification)
    return sent


def send_again(notification: Notification) -> bool:
    """Put a failed notification back to be sent, with all tries. Return whether it had failed."""
    failed = Notification.objects.filter(pk=notification.pk, state=State.FAILED)
    return bool(failed.update(state=State.WAITING, attempts=0, held_until=Now()))


delete_old = Retention(
    "Delete notifications that were finished long ago.",
    Expiring(Notification.objects.exclude(state=State.WAITING), "created_at", KEPT),
)


def _query_due() -> QuerySet[Notification]:
    return Notification.objects.filter(leases.FREE, state=State.WAITING).order_by("held_until")


def _send(notification: Notification) -> bool:
    try:
        SENDERS[Notification.Channel(notification.channel)](notification)
    except NotDelivered as error:
        _record_failure(notification, str(error))
        return False
    _release(notification, state=State.SENT, sent_at=timezone.now(), last_error="", held_until=Now())
    return True


def _record_failure(notification: Notification, error: str) -> None:
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
    _release(
        notification,
        state=State.FAILED if is_last else State.WAITING,
        held_until=Now() + pause,
        last_error=error[:200],
    )


def _release(notification: Notification, **changes: object) -> None:
    try:
        leases.release(notification, **changes)
    except leases.LeaseLost:  # this process stood still, and another one sends it again
        log.warning("notification.lease_lost event=%s", notification.event)


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
                **notification.details,
            },
        }
    )
    _post(settings.GATEWAY_NOTIFY_URL, body, _sign(str(notification.pk), timezone.now(), body), "webhook")


def _post_to_chat(notification: Notification) -> None:
    """Send the text to the incoming webhook of a chat tool, as Slack has it and Mattermost and others take it."""
    if not settings.GATEWAY_NOTIFY_CHAT_URL:
        raise NotDelivered("GATEWAY_NOTIFY_CHAT_URL is not set.")
    text = f"*{notification.subject}*\n{notification.text}\n{notification.link}"
    for character, entity in CHAT_ENTITIES:
        text = text.replace(character, entity)
    _post(settings.GATEWAY_NOTIFY_CHAT_URL, orjson.dumps({"text": text}), {}, "chat tool")


def _post(url: str, body: bytes, headers: dict[str, str], target: str) -> None:
    try:
        response = http.request(
            "POST",
            url,
            headers={"content-type": "application/json", **headers},
            body=body,
            deadline=Deadline.after(milliseconds=WEBHOOK_MS),
            max_bytes=MAX_RESPONSE_BYTES,
            follow_redirects=False,
        )
    except http.OutgoingError as error:
        raise NotDelivered(f"The {target} did not accept it: {error}") from None
    if not 200 <= response.status < 300:
        raise NotDelivered(f"The {target} answered {response.status}.")


def _sign(id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of a signed webhook, as https://www.standardwebhooks.com specifies them."""
    timestamp = str(int(at.timestamp()))
    signed = f"{id}.{timestamp}.".encode() + body
    key = base64.b64decode(settings.GATEWAY_NOTIFY_SECRET.removeprefix("whsec_"))
    digest = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": f"v1,{digest}"}


SENDERS: dict[Notification.Channel, Callable[[Notification], None]] = {
    Notification.Channel.EMAIL: _send_email,
    Notification.Channel.WEBHOOK: _call_webhook,
    Notification.Channel.CHAT: _post_to_chat,
}
