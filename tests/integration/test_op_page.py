"""An op's page: what it shows before anything is saved is what the API answers once it is live, byte for byte."""

import html
import re
from typing import Any

import orjson
import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from registry.catalog import model
from registry.models import Op
from registry.releases import publishing
from tests.support.admin_pages import form_of
from tests.support.api import Api


@pytest.fixture
def op(api: Api) -> Op:
    return Op.objects.get(op="onto.task.update")


def preview(client: HttpClient, op: Op, sent: dict[str, str]) -> HttpResponse:
    response = client.post(reverse("admin:registry_op_preview", args=[op.pk]), sent)
    assert response.status_code == 200
    return response


def bodies(response: HttpResponse) -> list[str]:
    """What the page shows as it is sent: short, full, one argument."""
    shown = response.content.decode()
    part = shown[shown.index('<div data-part="json">') : shown.index('<div data-part="changes">')]
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", part, re.S)]


def answers(api: Api, path: str, argument: str) -> list[str]:
    asked: list[dict[str, Any]] = [{}, {"format": "full"}, {"arg": argument}]
    return [api.post("help", {"path": path, **each}).content.decode() for each in asked]


def test_what_is_previewed_is_what_is_served(api: Api, admin_client: HttpClient, op: Op) -> None:
    change = reverse("admin:registry_op_change", args=[op.pk])
    sent = form_of(admin_client.get(change))
    schema = orjson.loads(sent["parameters_schema"])
    schema["properties"]["urgency"] = {"description": "“1” < 2", "type": "integer", "maximum": 2, "default": 1.0}
    sent |= {"parameters_schema": orjson.dumps(schema).decode(), "summary": "Change <one> task & say “done”"}
    sent |= {"description": "Two lines,\r\nas a browser sends them.", "rules-0-text": "Send urgency as 1."}
    number = int(sent["examples-TOTAL_FORMS"])
    args = {"task_id": "2b7e1a4c-8d3f-4e6a-9c5b-1f0d2e3a4b5c", "urgency": 1}
    sent |= {f"examples-{number}-{name}": text for name, text in (("title", "Ä"), ("note", "Why"), ("position", "9"))}
    sent |= {"examples-TOTAL_FORMS": str(number + 1), f"examples-{number}-args": orjson.dumps(args).decode()}

    shown = bodies(preview(admin_client, op, sent | {"preview-argument": "urgency"}))
    before = answers(api, op.op, "state_key")
    assert admin_client.post(change, sent).status_code == 302
    unpublished = answers(api, op.op, "state_key")
    publishing.publish_draft(note="Test", by="tests", at=timezone.now(), accepted="A test")
    model.refresh_live()

    assert unpublished == before
    assert answers(api, op.op, "urgency") == shown
    assert "as a browser sends them" in shown[1]
    assert "\\r" not in shown[1]


def test_every_shipped_op_is_previewed_as_it_is_served(api: Api, admin_client: HttpClient) -> None:
    for path in ("util.profile.get", "onto.project.create", "cal.event.list"):
        op = Op.objects.get(op=path)
        sent = form_of(admin_client.get(reverse("admin:registry_op_change", args=[op.pk])))

        shown = bodies(preview(admin_client, op, sent))

        assert shown[:2] == answers(api, path, "")[:2]


def test_what_blocks_is_told_before_it_is_saved_and_when_it_is_published(
    api: Api, admin_client: HttpClient, op: Op
) -> None:
    change = reverse("admin:registry_op_change", args=[op.pk])
    sent = form_of(admin_client.get(change)) | {"argument_aliases": '{"state_key": "nothing"}'}
    unsavable = sent | {"examples-0-args": '{"task_id": "no uuid"}'}

    told = preview(admin_client, op, unsavable).content.decode()
    refused = admin_client.post(change, unsavable)
    saved = admin_client.post(change, sent)

    assert "Cannot be saved" in told
    assert "Blocks publishing" in told
    assert refused.status_code == 200
    assert saved.status_code == 302
    with pytest.raises(publishing.NotPublishable, match="state_key must not be an argument"):
        publishing.publish_draft(note="Test", by="tests", at=timezone.now())


def test_a_row_that_was_added_and_removed_again_is_not_saved(api: Api, admin_client: HttpClient, op: Op) -> None:
    change = reverse("admin:registry_op_change", args=[op.pk])
    sent = form_of(admin_client.get(change))
    number = int(sent["rules-TOTAL_FORMS"])
    sent |= {"rules-TOTAL_FORMS": str(number + 1), f"rules-{number}-text": "Half a", f"rules-{number}-DELETE": "on"}

    assert "Half a" not in preview(admin_client, op, sent).content.decode()
    assert admin_client.post(change, sent).status_code == 302
    assert op.rules.count() == number
