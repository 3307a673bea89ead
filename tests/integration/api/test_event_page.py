"""The page of an event: request, response, caller, rollout and figures."""

from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.test import Client as HttpClient
from django.urls import reverse
from django.utils import timezone

from analytics.events.models import OperationEvent
from analytics.turns.models import Turn
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import store_contents

pytestmark = pytest.mark.django_db


KEY = {"client": "chat", "session": "s", "turn": "t"}


def add_event(**fields: Any) -> OperationEvent:
    values = {"time": timezone.now(), "type": "exec", "op": "onto.task.update", "latency_ms": 12.0}
    return OperationEvent.objects.create(**values | {"ok": True, "status": 200} | KEY | fields)


def read_page(http: HttpClient, event: OperationEvent) -> str:
    response = http.get(reverse("admin:analytics_operationevent_change", args=[event.pk]))
    assert response.status_code == 200
    html = " ".join(unescape(response.content.decode()).replace("<wbr>", "").split())
    return html.partition('id="content-main"')[2]  # without the sidebar


def test_event_page_has_its_sections_in_order(admin_client: HttpClient) -> None:
    failed = {"ok": False, "status": 400, "code": "VALIDATION_ERROR", "reason": "invalid_args"}
    failed |= {"field_errors": [["/state_key", "enum"], ["", "no_change"]], "progress": {"done": 7.0, "total": 10.0}}

    html = read_page(admin_client, add_event(**failed))

    assert "7 of 10" in html
    sections = ["Request", "Response", "Caller", "Rollout", "Figures"]
    positions = [html.index(f"{section} </h2>") for section in sections]
    assert positions == sorted(positions)
    assert "<div>state_key: not an allowed value</div><div>the args: no change</div>" in html


def test_event_page_shows_every_column() -> None:
    fields = flatten_fieldsets(admin.site.get_model_admin(OperationEvent).fieldsets or [])

    columns = {field.name for field in OperationEvent._meta.fields}
    assert len(fields) == len(set(fields))
    shown_as_other_fields = {"field_errors", "dry_run", "replayed", "unchanged", "changed_ids", "progress", "release"}
    assert (
        set(fields) ^ columns
        == set(
            """
    id content show_field_errors show_dry_run show_replayed show_unchanged show_changed_ids show_progress show_release
""".split()
        )
        | shown_as_other_fields
    )


@for_each(
    "content, texts",
    [
        (None, ["They are not kept."] * 2),
        ({"too_large": 20_001}, ["Not stored: args and result have 20,001 bytes."] * 2),
        ({"args": {"title": "<b>"}}, ['"title": "<b>"', "Nothing."]),
        ({"args": {}, "result": {"id": 7}}, ["{}", '"id": 7']),
    ],
)
def test_event_page_shows_args_and_result_or_why_they_are_missing(
    admin_client: HttpClient, content: Any, texts: list[str]
) -> None:
    html = read_page(admin_client, add_event(content=content))

    sent, got = html.partition("What it sent")[2].split("What it got")
    assert texts[0] in sent
    assert texts[1] in got


def test_event_page_says_whether_its_contents_are_gone_or_were_never_stored(admin_client: HttpClient) -> None:
    store_contents(7)
    old = add_event(time=timezone.now() - timedelta(days=8))

    assert "Kept for 7 days only." in read_page(admin_client, old)
    assert "Not stored for this call." in read_page(admin_client, add_event())


def test_event_page_begins_with_what_went_wrong_and_what_came_next(admin_client: HttpClient) -> None:
    error = {"ok": False, "status": 400, "code": "NOT_FOUND", "reason": "not_found"}
    failed, other = add_event(**error), add_event(**error, session="other")
    repair = add_event(repairs=failed.pk)
    turn = Turn.objects.create(**KEY, time=failed.time)

    page = read_page(admin_client, failed)

    assert "It failed: not found. Repaired" in page
    assert f'href="{reverse("admin:analytics_turn_change", args=[turn.pk])}">The turn, step by step</a>' in page
    assert "It failed: not found. Then the turn ended." in read_page(admin_client, other)
    assert "It succeeded in 12 ms." in read_page(admin_client, repair)


def test_event_page_tells_what_the_model_had_read_sent_and_repaired(admin_client: HttpClient) -> None:
    store_contents(7)
    start = timezone.now()
    add_event(time=start, type="help", format="short")
    failed = add_event(
        time=start + timedelta(seconds=2),
        ok=False,
        status=400,
        code="VALIDATION_ERROR",
        reason="invalid_args",
        field_errors=[["/status", "unknown_argument"], ["/task_id", "required"], ["/priority", "enum"]],
        content={"args": {"status": "done", "priority": "x"}},
    )
    args = {"state_key": "done", "priority": 1, "task_id": "t"}
    add_event(time=failed.time + timedelta(milliseconds=190), repairs=failed.pk, content={"args": args})

    page = read_page(admin_client, failed)

    assert (
        "It sent status; the op has state_key and task_id. It did not send task_id. "
        "It failed: priority: not an allowed value. Repaired 190 ms later."
    ) in page
    assert "short help of onto.task.update</a>, 2.0 s before" in page
    assert '"status": "done"' in page
    assert "The error VALIDATION_ERROR, invalid args." in page
    assert "call of onto.task.update</a>, 190 ms later" in page
