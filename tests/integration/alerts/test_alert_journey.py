"""From five failed calls to an alert that people and programs get, and that closes by itself."""

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone
from standardwebhooks import Webhook

from analytics.alerts import alert_job
from analytics.events import event_log
from console.home import alerts
from notifications import delivery
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read
from tests.support.upstreams.http_servers import Server, build_response
from workspace.demo import DEMO_PROJECT_ID

pytestmark = pytest.mark.both_databases

SECRET = "whsec_" + "a2V5" * 8
MISSING = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def receiver(settings: Any, admin_user: User) -> Iterator[Server]:
    """Return the server that gets the messages of the webhook and of the chat tool."""
    server = Server(lambda _: build_response(Connection="close"))
    settings.GATEWAY_OUTGOING_ALLOW = [ip_network("127.0.0.0/8")]
    settings.GATEWAY_SENDS_EMAIL, settings.GATEWAY_URL = True, "https://gateway.acme.com"
    settings.GATEWAY_NOTIFY_URL, settings.GATEWAY_NOTIFY_SECRET = server.url("/hook"), SECRET
    settings.GATEWAY_NOTIFY_CHAT_URL = server.url("/chat")
    yield server
    server.stop()


def read_messages(server: Server) -> dict[str, dict[str, Any]]:
    """Return the JSON that each address got since the last time. The webhook's has a valid signature."""
    messages = {}
    for request in server.requests:
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        path = first.split()[1]
        if path == "/hook":
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            Webhook(SECRET).verify(body, headers)
        messages[path] = orjson.loads(body)
    server.requests.clear()
    return messages


def check(after: timedelta = timedelta()) -> None:
    event_log.flush()
    alert_job.check_alerts(timezone.now() + after)
    delivery.send_due()


def test_op_that_fails_five_of_five_opens_an_alert_that_closes_by_itself(
    api: Api, admin_client: HttpClient, receiver: Server
) -> None:
    for _ in range(5):
        assert api.exec("onto.task.get", {"task_id": MISSING})["ok"] is False
    for _ in range(30):
        assert api.exec("onto.project.list")["ok"] is True

    check()
    check()

    messages = read_messages(receiver)
    [alert] = messages["/hook"]["data"]["alerts"]
    assert (messages["/hook"]["type"], alert["name"], alert["value"]) == ("alert.opened", "onto.task.get", 100.0)
    assert messages["/chat"]["text"].startswith("*An op fails: onto.task.get*\n")
    assert [sent.subject for sent in mail.outbox] == ["An op fails: onto.task.get"]
    assert "https://gateway.acme.com/admin/alerts/" in mail.outbox[0].body
    [shown] = alerts.describe_alerts(alerts.list_open(), timezone.now())
    assert "100% of 5 calls failed in the last 60 minutes." in read(admin_client.get(reverse("admin:alerts")))
    assert read(admin_client.get(shown.link)).count('class="field-op') == 5

    args = {"project_id": DEMO_PROJECT_ID, "title": "Call the printers"}
    task = api.exec("onto.task.create", args, idempotency_key="once")["result"]["task"]
    for _ in range(6):
        assert api.exec("onto.task.get", {"task_id": task["id"]})["ok"] is True
    check(after=timedelta(minutes=11))

    messages = read_messages(receiver)
    assert (messages["/hook"]["type"], messages["/hook"]["data"]["alerts"][0]["id"]) == ("alert.closed", alert["id"])
    assert len(mail.outbox) == 1
    page = read(admin_client.get(reverse("admin:alerts")))
    assert "Nothing needs attention." in page
    assert "Closed in the last 7 days" in page
