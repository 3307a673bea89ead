"""The page of an op: its preview equals, byte for byte, what the API answers after publishing."""

import html
import re
from typing import Any

import orjson
import pytest
from django.http import HttpResponse
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from registry.catalog import cache
from registry.models import Op
from registry.releases import publishing
from tests.support.clients.api import Api
from tests.support.console.admin_pages import read_form


@pytest.fixture
def op(api: Api) -> Op:
    return Op.objects.get(op="onto.task.update")


def preview(client: HttpClient, op: Op, form: dict[str, str]) -> HttpResponse:
    response = client.post(reverse("admin:registry_op_preview", args=[op.pk]), form)
    assert response.status_code == 200
    return response


def read_previews(response: HttpResponse) -> list[str]:
    """Return the previewed JSON bodies: short, full, one argument."""
    page = response.content.decode()
    part = page[page.index('<div data-part="json">') : page.index('<div data-part="changes">')]
    return [html.unescape(text) for text in re.findall(r"<pre[^>]*>(.*?)</pre>", part, re.S)]


def read_help_bodies(api: Api, path: str, argument: str) -> list[str]:
    queries: list[dict[str, Any]] = [{}, {"format": "full"}, {"arg": argument}]
    return [api.post("help", {"path": path, **each}).content.decode() for each in queries]


def test_preview_equals_what_is_served_after_publishing(api: Api, admin_client: HttpClient, op: Op) -> None:
    change = reverse("admin:registry_op_change", args=[op.pk])
    form = read_form(admin_client.get(change))
    schema = orjson.loads(form["parameters_schema"])
    schema["properties"]["urgency"] = {"description": "“1” < 2", "type": "integer", "maximum": 2, "default": 1.0}
    form |= {"parameters_schema": orjson.dumps(schema).decode(), "summary": "Change <one> task & say “done”"}
    form |= {"description": "Two lines,\r\nas a browser sends them.", "rules-0-text": "Send urgency as 1."}
    number = int(form["examples-TOTAL_FORMS"])
    args = {"task_id": "2b7e1a4c-8d3f-4e6a-9c5b-1f0d2e3a4b5c", "urgency": 1}
    form |= {f"examples-{number}-{name}": text for name, text in (("title", "Ä"), ("note", "Why"), ("position", "9"))}
    form |= {"examples-TOTAL_FORMS": str(number + 1), f"examples-{number}-args": orjson.dumps(args).decode()}

    previews = read_previews(preview(admin_client, op, form | {"preview-argument": "urgency"}))
    before = read_help_bodies(api, op.op, "state_key")
    assert admin_client.post(change, form).status_code == 302
    unpublished = read_help_bodies(api, op.op, "state_key")
    publishing.publish_draft(note="Test", by="tests", at=timezone.now(), accepted="A test")
    cache.refresh_live()

    assert unpublished == before
    assert read_help_bodies(api, op.op, "urgency") == previews
    assert "as a browser sends them" in previews[1]
    assert "\\r" not in previews[1]


def test_blocking_problem_is_shown_in_the_preview_and_stops_publishing(
    api: Api, admin_client: HttpClient, op: Op
) -> None:
    change = reverse("admin:registry_op_change", args=[op.pk])
    form = read_form(admin_client.get(change)) | {"argument_aliases": '{"state_key": "nothing"}'}
    invalid_form = form | {"examples-0-args": '{"task_id": "no uuid"}'}

    preview_html = preview(admin_client, op, invalid_form).content.decode()
    refused = admin_client.post(change, invalid_form)
    saved = admin_client.post(change, form)

    assert "Cannot be saved" in preview_html
    assert "Blocks publishing" in preview_html
    assert refused.status_code == 200
    assert saved.status_code == 302
    with pytest.raises(publishing.NotPublishable, match="state_key must not be an argument"):
        publishing.publish_draft(note="Test", by="tests", at=timezone.now())


def test_inline_row_marked_for_deletion_is_not_saved(api: Api, admin_client: HttpClient, op: Op) -> None:
    change = reverse("admin:registry_op_change", args=[op.pk])
    form = read_form(admin_client.get(change))
    number = int(form["rules-TOTAL_FORMS"])
    form |= {"rules-TOTAL_FORMS": str(number + 1), f"rules-{number}-text": "Half a", f"rules-{number}-DELETE": "on"}

    assert "Half a" not in preview(admin_client, op, form).content.decode()
    assert admin_client.post(change, form).status_code == 302
    assert op.rules.count() == number
