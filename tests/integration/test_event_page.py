"""An event's page: what was asked and answered, by whom and under what, in parts with a heading each."""

from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.models import OperationEvent

pytestmark = pytest.mark.django_db


def page(http: HttpClient, **fields: Any) -> str:
    said = {"time": timezone.now(), "type": "exec", "op": "onto.task.update", "latency_ms": 12.5, "trace_id": "tr_1"}
    failed = {"ok": False, "status": 400, "code": "VALIDATION_ERROR", "reason": "invalid_args"}
    event = OperationEvent.objects.create(**said | failed | fields)
    answer = http.get(reverse("admin:analytics_operationevent_change", args=[event.pk]))
    assert answer.status_code == 200
    html = " ".join(unescape(answer.content.decode()).split())
    return html.partition('id="content-main"')[2]  # past the sidebar


def test_an_event_is_told_in_parts(admin_client: HttpClient) -> None:
    html = page(admin_client, field_errors=[["/state_key", "enum"], ["", "no_change"]])

    parts = ["Request", "Response", "Caller", "Rollout", "Figures"]
    places = [html.index(f"{part} </h2>") for part in parts]
    assert places == sorted(places)
    assert "<div><code>/state_key</code> enum</div><div><code>the args</code> no_change</div>" in html


def test_no_column_of_an_event_is_left_out_of_its_page() -> None:
    shown = flatten_fieldsets(admin.site.get_model_admin(OperationEvent).fieldsets or [])

    columns = {field.name for field in OperationEvent._meta.fields}
    assert len(shown) == len(set(shown))
    said_otherwise = {"content", "field_errors", "dry_run", "replayed"}
    assert (
        set(shown) ^ columns
        == {"id", "args", "result", "show_field_errors", "show_dry_run", "show_replayed"} | said_otherwise
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, ["Not stored: GATEWAY_CONTENT_DAYS is 0 or has passed."] * 2),
        ({"too_large": 20_001}, ["Not stored: args and result have 20,001 bytes."] * 2),
        ({"args": {"title": "<b>"}}, ['"title": "<b>"', "–"]),
        ({"args": {}, "result": {"id": 7}}, ["{}", '"id": 7']),
    ],
)
def test_args_and_result_are_told_where_they_are_kept(admin_client: HttpClient, content: Any, told: list[str]) -> None:
    html = page(admin_client, content=content)

    asked, answered = html.split("Response </h2>")
    assert told[0] in asked
    assert told[1] in answered
