"""The page of a turn shows it as one trace."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.events.models import OperationEvent
from analytics.turns.models import ToolSelection, Turn
from console.activity import turn_trace
from registry.models import Release
from tests.support.console.staff import sign_in
from tests.support.loops import for_each

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEY = {"client": "chat", "session": "s", "turn": "t"}


@pytest.fixture
def turn() -> Turn:
    return Turn.objects.create(**KEY, time=AT, calls=2, failed=1, repaired=1)


def add_event(seconds: float, **fields: Any) -> OperationEvent:
    defaults = {"type": "exec", "op": "onto.task.update", "ok": True, "status": 200, "latency_ms": 12.0}
    return OperationEvent.objects.create(**{**KEY, **defaults, "time": AT + timedelta(seconds=seconds), **fields})


def read_page(http: HttpClient, turn: Turn) -> str:
    response = http.get(reverse("admin:analytics_turn_change", args=[turn.pk]))
    assert response.status_code == 200
    return " ".join(response.content.decode().replace("<wbr>", "").split())


@pytest.mark.both_databases
def test_trace_shows_each_event_with_what_it_cost_and_what_came_next(
    live_catalog: Any, turn: Turn, admin_client: HttpClient
) -> None:
    release = Release.objects.get()
    short, _full = release.tokens["onto.task.update"]
    add_event(0, type="search", op="", result_count=0, content={"args": {"query": "<b>late</b> tasks"}})
    add_event(2, type="help", format="short", release=release.pk)
    failed = add_event(
        4, ok=False, status=400, code="VALIDATION_ERROR", reason="invalid_args", field_errors=[["/due_at", "format"]]
    )
    repair = add_event(8, repairs=failed.pk)
    add_event(9, source="admin")  # which no figure counts
    add_event(9, turn="other")
    ToolSelection.objects.create(**KEY, time=AT, toolset="x", tokens=10_537, outcome="succeeded")

    page = read_page(admin_client, turn)

    assert (
        "4 steps in 8.0 s, of which the gateway took 48 ms; 1 failed and was repaired. "
        "It cost 10,537 tokens in all. The chat service says that it succeeded."
    ) in page
    assert "“&lt;b&gt;late&lt;/b&gt; tasks”" in page
    assert f'<td class="ui-number">{short}</td>' in page
    assert 'due_at: wrong format</span>, repaired by <a href="#step-4">step 4</a>' in page
    assert 'OK, repairs <a href="#step-3">step 3</a>' in page
    assert "called it again" in page
    assert "no result" in page
    for event in (failed, repair):
        assert reverse("admin:analytics_operationevent_change", args=[event.pk]) in page
    assert page.count('<tr id="step-') == 4


def test_counts_of_a_turn_are_folded_and_its_release_has_a_name(
    live_catalog: Any, turn: Turn, admin_client: HttpClient
) -> None:
    release = Release.objects.get()
    Turn.objects.update(release=release.pk)

    response: Any = admin_client.get(reverse("admin:analytics_turn_change", args=[turn.pk]))

    assert all("collapse" in each.classes for each in response.context["adminform"])
    assert f'title="{release.version}">{release.short_name}</' in response.content.decode()


@for_each(
    "fields, name",
    [
        ({"subject": "ada", "calls": 3, "failed": 1}, "Turn of ada, 1 Mar, 12:00 UTC: 3 calls, 1 failed"),
        ({"calls": 1, "failed": 1, "repaired": 1}, "Turn of chat, 1 Mar, 12:00 UTC: 1 call, 1 repaired"),
        ({"searches": 2}, "Turn of chat, 1 Mar, 12:00 UTC: no call"),
    ],
)
def test_turn_is_named_for_its_user_its_time_and_how_it_went(fields: dict[str, Any], name: str) -> None:
    assert Turn(**KEY, time=AT, **fields).short_name == name


def test_page_of_turn_has_its_name_as_title_and_its_id_to_copy(turn: Turn, admin_client: HttpClient) -> None:
    page = read_page(admin_client, turn)

    assert f"<title> {turn.short_name} |" in page
    assert f'<code id="turn-id">{turn.turn}</code> <button type="button" class="ui-button" data-copy="turn-id"' in page


@pytest.mark.both_databases
def test_list_names_turns_by_their_words_or_their_ops(
    live_catalog: Any, turn: Turn, admin_client: HttpClient, django_assert_max_num_queries: Any
) -> None:
    def read_titles(http: HttpClient) -> list[list[str]]:
        page = " ".join(http.get(reverse("admin:analytics_turn_changelist")).content.decode().split())
        cells = re.findall(r'class="field-(?:title|outcome|tokens|release_name)[^>]*>(.*?)</t[dh]>', page)
        texts = [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in cells]
        return [texts[start : start + 4] for start in range(0, len(texts), 4)]

    for number, op in enumerate(("onto.task.update", "onto.task.get", "onto.task.get", "onto.task.list")):
        add_event(number, op=op)
    with_words = {
        "turn": "u",
        "time": AT + timedelta(hours=1),
        "calls": 3,
        "failed": 2,
        "release": live_catalog.version,
    }
    Turn.objects.create(**{**KEY, **with_words})
    add_event(9, turn="u", type="search", op="", content={"args": {"query": "late <tasks>"}})
    add_event(9, turn="u", op="onto.task.list")
    ToolSelection.objects.create(**{**KEY, "turn": "u"}, time=AT, toolset="x", tokens=10_537, outcome="abandoned")

    with django_assert_max_num_queries(20):
        rows = read_titles(admin_client)

    by_ops = ["onto.task.update, onto.task.get and 1 more", "1 repaired", "–", "–"]
    assert rows == [["“late <tasks>”", "abandoned, 2 failed", "10,537", "r1"], by_ops]
    without_contents = sign_in("una", permissions=["view_turn"])
    assert [row[0] for row in read_titles(without_contents)] == ["onto.task.list", by_ops[0]]


@for_each(
    "failed, repaired, text",
    [
        (0, 0, "none failed"),
        (1, 0, "1 failed"),
        (1, 1, "1 failed and was repaired"),
        (2, 2, "2 failed and were repaired"),
        (3, 1, "3 failed, 1 of them was repaired"),
    ],
)
def test_failures_are_told_in_words(failed: int, repaired: int, text: str) -> None:
    assert turn_trace.describe_failures(failed, repaired) == text


def test_long_turn_shows_its_first_steps(
    turn: Turn, admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    monkeypatch.setattr(turn_trace, "MAX_STEPS", 20)
    for number in range(30):
        add_event(number)

    with django_assert_max_num_queries(20):
        page = read_page(admin_client, turn)

    assert page.count('<tr id="step-') == 20
    assert "These are the first 20 steps." in page


def test_trace_is_for_those_who_may_see_events_and_gone_with_them(turn: Turn, admin_client: HttpClient) -> None:
    assert "What happened" not in read_page(admin_client, turn)  # its events were deleted
    add_event(0)
    assert "What happened" in read_page(admin_client, turn)
    assert "What happened" not in read_page(sign_in("una", permissions=["view_turn"]), turn)


@for_each(
    "milliseconds, text", [(0, "0 ms"), (1.25, "1.2 ms"), (13.4, "13 ms"), (6_400, "6.4 s"), (119_700, "2 min 0 s")]
)
def test_durations_have_the_unit_that_suits_them(milliseconds: float, text: str) -> None:
    assert turn_trace.format_duration(milliseconds) == text
