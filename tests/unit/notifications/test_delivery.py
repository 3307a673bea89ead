"""A notification is sent once, tried again if that fails, and never lost: its row tells what happened."""

import base64
import smtplib
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Any
from unittest import mock

import orjson
import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils import timezone
from standardwebhooks import Webhook, WebhookVerificationError

from core.background import leases
from notifications import delivery, outbox
from notifications.models import Notification
from notifications.outbox import OutgoingMessage
from tests.support.upstreams.http_servers import Server, build_response

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

AT = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
SECRET = base64.b64encode(b"k" * 32).decode()
MESSAGE = OutgoingMessage(
    "review.asked", "ann asks for a review of 2 ops", "ann asks.\n\n<b>Please</b>", "/admin/x/", "ann"
)


@pytest.fixture(autouse=True)
def sends_email(settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL, settings.GATEWAY_URL = True, "https://gateway.acme.com"


@pytest.fixture
def webhook(settings: Any) -> Iterator[Server]:
    server = Server(lambda _: build_response(Connection="close"))
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8")]
    settings.GATEWAY_NOTIFY_URL, settings.GATEWAY_NOTIFY_SECRET = server.url("/hook"), f"whsec_{SECRET}"
    yield server
    server.stop()


def notify(*recipients: str) -> list[Notification]:
    return outbox.notify(MESSAGE, recipients=recipients, at=AT)


def test_each_address_gets_one_mail_with_the_link() -> None:
    notify("ben@acme.com", "cy@acme.com", "ben@acme.com", "")

    assert delivery.send_due() == 2
    assert delivery.send_due() == 0

    assert sorted(sent.to[0] for sent in mail.outbox) == ["ben@acme.com", "cy@acme.com"]
    assert mail.outbox[0].subject == MESSAGE.subject
    assert mail.outbox[0].body == f"{MESSAGE.text}\n\nhttps://gateway.acme.com/admin/x/\n"
    assert set(Notification.objects.values_list("state", "attempts")) == {("sent", 1)}


def read_request(server: Server) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of the first request."""
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = (line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
    return {name.lower(): value for name, value in lines}, body


def test_webhook_gets_json_that_a_receiver_can_verify(webhook: Server) -> None:
    (row,) = notify()

    assert delivery.send_due() == 1

    headers, body = read_request(webhook)
    Webhook(f"whsec_{SECRET}").verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(f"whsec_{SECRET}").verify(body.replace(b"2 ops", b"3 ops"), headers)
    assert headers["webhook-id"] == str(row.pk)
    assert orjson.loads(body) == {
        "type": "review.asked",
        "timestamp": AT.isoformat(),
        "data": {
            "subject": MESSAGE.subject,
            "text": MESSAGE.text,
            "link": "https://gateway.acme.com/admin/x/",
            "by": "ann",
        },
    }


def test_webhook_gets_details_for_programs(webhook: Server) -> None:
    outbox.notify(replace(MESSAGE, details={"alerts": [{"id": 7}]}), recipients=[], at=AT)

    delivery.send_due()

    data = orjson.loads(read_request(webhook)[1])["data"]
    assert (data["alerts"], data["by"]) == ([{"id": 7}], "ann")


def test_chat_tool_gets_text_that_pings_nobody(webhook: Server, settings: Any) -> None:
    settings.GATEWAY_NOTIFY_CHAT_URL, settings.GATEWAY_NOTIFY_URL = settings.GATEWAY_NOTIFY_URL, ""
    (row,) = outbox.notify(replace(MESSAGE, text="<!channel> a & b"), recipients=[], at=AT)

    assert delivery.send_due() == 1

    headers, body = read_request(webhook)
    link = "https://gateway.acme.com/admin/x/"
    assert orjson.loads(body) == {"text": f"*{MESSAGE.subject}*\n&lt;!channel&gt; a &amp; b\n{link}"}
    assert "webhook-signature" not in headers
    assert str(row) == "review.asked to the chat tool"


def test_chat_tool_that_fails_is_named(webhook: Server, settings: Any) -> None:
    settings.GATEWAY_NOTIFY_CHAT_URL, settings.GATEWAY_NOTIFY_URL = settings.GATEWAY_NOTIFY_URL, ""
    webhook.answers = lambda _: build_response(b"no_text", "400 Bad Request", Connection="close")
    (row,) = notify()

    delivery.send_due()

    row.refresh_from_db()
    assert row.last_error == "The chat tool answered 400."


def test_webhook_that_fails_is_called_again_later(webhook: Server) -> None:
    webhook.answers = lambda _: build_response(b"no", "500 Internal Server Error", Connection="close")
    (row,) = notify()

    assert delivery.send_due() == 0
    assert delivery.send_due() == 0

    row.refresh_from_db()
    assert (row.state, row.attempts, row.last_error) == ("waiting", 1, "The webhook answered 500.")
    assert len(webhook.requests) == 1
    webhook.answers = lambda _: build_response(Connection="close")
    Notification.objects.update(held_until=Now())
    assert delivery.send_due() == 1
    row.refresh_from_db()
    assert (row.state, row.attempts, row.last_error) == ("sent", 2, "")


def test_address_that_outgoing_calls_may_not_reach_is_refused(webhook: Server, settings: Any) -> None:
    settings.GATEWAY_OUTGOING_ALLOW = []
    (row,) = notify()

    delivery.send_due()

    row.refresh_from_db()
    assert row.state == "waiting"
    assert row.last_error.startswith("The webhook did not accept it:")
    assert webhook.requests == []


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (smtplib.SMTPDataError(451, b"ben@acme.com is busy"), "The mail server answered 451."),
        (ConnectionRefusedError("secret host"), "The mail server did not accept it: ConnectionRefusedError."),
    ],
)
def test_mail_is_given_up_after_many_tries_and_can_be_sent_again(
    error: Exception, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    (row,) = notify("ben@acme.com")

    with mock.patch.object(EmailMessage, "send", side_effect=error):
        for _ in range(20):
            Notification.objects.filter(state="waiting").update(held_until=Now())
            delivery.send_due()

    row.refresh_from_db()
    assert (row.state, row.attempts, row.last_error) == ("failed", len(delivery.PAUSES) + 1, text)
    assert "notification.given_up event=review.asked channel=email" in caplog.text
    assert "ben@acme.com" not in caplog.text
    assert delivery.send_again(row)
    assert delivery.send_due() == 1
    assert not delivery.send_again(row)


def test_one_that_another_process_sends_is_left_to_it_until_its_lease_ends() -> None:
    notify("ben@acme.com")
    assert leases.claim(delivery._query_due(), delivery.LEASE)  # by a process that dies

    assert delivery.send_due() == 0
    Notification.objects.update(held_until=Now() - timedelta(seconds=1))
    assert delivery.send_due() == 1


def test_process_that_stood_still_leaves_the_row_to_the_one_that_took_over(caplog: pytest.LogCaptureFixture) -> None:
    (row,) = notify("ben@acme.com")

    def stand_still(_: EmailMessage) -> None:
        Notification.objects.update(held_until=Now())
        assert leases.claim(delivery._query_due(), delivery.LEASE)
        raise ConnectionRefusedError

    with mock.patch.object(EmailMessage, "send", stand_still):
        delivery.send_due()

    row.refresh_from_db()
    assert (row.state, row.attempts, row.last_error) == ("waiting", 2, "")
    assert "notification.lease_lost" in caplog.text


def test_nothing_is_stored_if_nothing_is_configured(settings: Any) -> None:
    settings.GATEWAY_SENDS_EMAIL = False

    assert notify("ben@acme.com") == []


def test_worker_is_woken_after_the_commit_and_its_failure_hurts_nobody(
    monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    woken = []
    monkeypatch.setattr(outbox, "run_in_background", lambda _, work: woken.append(work))
    with django_capture_on_commit_callbacks(execute=True):
        notify("ben@acme.com")
        assert woken == []

    assert len(woken) == 1
    with mock.patch.object(outbox.task_queue, "send", side_effect=OSError("no broker")):
        woken[0]()


def test_job_sends_what_no_message_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "run_in_background", lambda _, work: work())
    notify("ben@acme.com")

    assert delivery.send_when_due(timezone.now()) is False

    assert len(mail.outbox) == 1


def test_finished_ones_are_deleted_after_a_month() -> None:
    notify("ben@acme.com")
    delivery.send_due()
    notify("cy@acme.com")

    delivery.delete_old(AT + timedelta(days=31))

    assert list(Notification.objects.values_list("recipient", flat=True)) == ["cy@acme.com"]


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "sent"},
        {"state": "odd"},
        {"recipient": ""},
        {"channel": "webhook"},
        {"channel": "chat"},
        {"channel": "pigeon"},
    ],
)
def test_row_that_cannot_be_is_refused(fields: dict[str, str]) -> None:
    row = notify("ben@acme.com")[0]

    with pytest.raises(IntegrityError), transaction.atomic():
        Notification.objects.filter(pk=row.pk).update(**fields)
