"""The page "Data flow", and the rules on the page of a client."""

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.events import event_log
from gateway.models import Client
from registry.catalog.model import Catalog
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_text
from tests.support.loops import for_each

URL = "admin:access_data_flow"
ASK_RULE = "after untrusted, ask before destructive"


def test_page_explains_a_sequence_of_ops(live_catalog: Catalog, admin_client: HttpClient) -> None:
    page = read_text(admin_client.get(reverse(URL), {"ops": "util.web.visit\nonto.task.list\nonto.task.delete"}))

    assert "onto.task.list (private): runs." in page
    assert "onto.task.delete (none): asks the user. An earlier call of this turn, util.web.visit, brought in" in page
    assert f"Rule: {ASK_RULE}." in page


def test_page_explains_a_turn_by_the_rules_of_a_client(api: Api, admin_client: HttpClient) -> None:
    client = Client.objects.get()
    Client.objects.update(data_flow_rules="after private, refuse destructive")
    api.post("exec", {"op": "onto.task.list", "args": {}}, Gateway_Turn="t1")
    api.post("exec", {"op": "onto.task.delete", "args": {"task_id": "x"}}, Gateway_Turn="t1")
    event_log.flush()

    page = read_text(admin_client.get(reverse(URL), {"turn": "t1", "client": client.pk}))

    assert "onto.task.delete (none): refused. An earlier call of this turn, onto.task.list, brought in" in page


@for_each(
    "query, message",
    [
        ({"ops": "onto.task.lst"}, "No op of the live release has this name: onto.task.lst."),
        ({"ops": "onto.task.list", "turn": "t1"}, "Enter ops or a turn, one of the two."),
        ({"ops": "", "turn": "t1"}, "The events have no call of this turn"),
    ],
)
def test_page_says_what_to_enter(
    live_catalog: Catalog, admin_client: HttpClient, query: dict[str, str], message: str
) -> None:
    assert message in read_text(admin_client.get(reverse(URL), query))


@pytest.mark.usefixtures("api")
def test_rules_that_cannot_be_read_are_not_saved(admin_client: HttpClient) -> None:
    client = Client.objects.get()
    url = reverse("admin:gateway_client_change", args=[client.pk])
    form = {
        "name": client.name,
        "subject_pattern": "*",
        "op_patterns": '["*"]',
        "is_active": "on",
        "data_flow": "enforce",
    }

    refused = admin_client.post(url, form | {"data_flow_rules": "allow all"})
    client.refresh_from_db()
    assert "“allow all” is not a rule. Write: after untrusted" in read_text(refused)
    assert client.data_flow == ""

    admin_client.post(url, form | {"data_flow_rules": "after private, ask before outbound"})
    client.refresh_from_db()
    assert (client.data_flow, client.data_flow_rules) == ("enforce", "after private, ask before outbound")
