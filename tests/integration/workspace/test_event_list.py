"""The list of events: what went wrong in each, and above the list how often."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client as HttpClient
from django.urls import reverse

from analytics.events import problems
from analytics.events.models import OperationEvent
from console.activity.events import ERROR_CODES
from gateway.contracts.errors import ErrorCode
from tests.support.loops import for_each

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

HOSTILE = "/<img src=x onerror=alert(1)>"


@pytest.fixture
def events() -> None:
    def add_event(op: str, code: str = "", reason: str = "", pointer: str = "", *, days_ago: int = 0) -> None:
        OperationEvent.objects.create(
            time=datetime.now(UTC) - timedelta(days=days_ago),
            type="exec",
            op=op,
            ok=not code,
            status=200,
            code=code,
            reason=reason,
            field_errors=[[pointer, "format"]] if pointer else [],
            latency_ms=1,
        )

    for _ in range(3):
        add_event("onto.task.get", "VALIDATION_ERROR", "invalid_args", "/due_at")
    add_event("onto.task.get", "VALIDATION_ERROR", "invalid_args", HOSTILE)
    add_event("onto.task.update", "NOT_FOUND", "not_found")
    add_event("onto.task.update")
    add_event("onto.task.move", "NOT_FOUND", "not_found", days_ago=8)


def read_list(http: HttpClient, **query: str) -> str:
    response = http.get(reverse("admin:analytics_operationevent_changelist"), query)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def read_causes(page: str) -> dict[str, tuple[str, int]]:
    """Return {problem: (URL, times)} of the causes above the list."""
    rows = re.findall(r'<li><a href="(\?[^"]*)">(.*?)</a> <progress value="(\d+)"', page)
    return {unescape(text.replace("<wbr>", "")): (unescape(url), int(times)) for url, text, times in rows}


def test_causes_above_the_list_lead_to_their_events(
    events: None, admin_client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = read_list(admin_client)
    causes = read_causes(page)

    assert "What went wrong in 5 failed events of the last 7 days" in page
    assert {text: times for text, (_, times) in causes.items()} == {
        "due_at: wrong format": 3,
        f"{HOSTILE[1:]}: wrong format": 1,
        "not found": 1,
    }
    assert "<img src=x" not in page
    cells = re.findall(r'<td class="field-outcome[^>]*>(.*?)</td>', page)
    texts = [re.sub(r"<[^>]*>", "", cell).strip() for cell in cells]
    assert (len(texts), texts.count("due_at: wrong format"), texts.count("not found"), texts.count("OK")) == (
        7,
        3,
        2,
        1,
    )
    for url, times in causes.values():
        response = admin_client.get(reverse("admin:analytics_operationevent_changelist") + url)
        assert response.context["cl"].result_count == times
        assert "event-causes" not in response.content.decode()  # there is only one
    monkeypatch.setattr(problems, "MAX_COUNTED", 2)  # older ones are not counted
    assert "What went wrong in the newest 2 failed events" in read_list(admin_client)


def test_causes_are_those_of_the_filtered_events(events: None, admin_client: HttpClient) -> None:
    causes = read_causes(read_list(admin_client, op__exact="onto.task.update"))

    assert [*causes] == ["not found"]
    assert "op__exact=onto.task.update" in causes["not found"][0]
    assert "event-causes" not in read_list(admin_client, ok__exact="1")


def test_call_from_the_console_names_the_user(admin_client: HttpClient) -> None:
    values = {"type": "exec", "op": "a", "ok": True, "status": 200, "latency_ms": 1}
    OperationEvent.objects.create(time=datetime.now(UTC), source="admin", client="admin ana", key="ana", **values)

    assert ">ana, in the console</td>" in read_list(admin_client)


def test_filters_offer_every_error_code() -> None:
    assert set(ERROR_CODES) == {each.value for each in ErrorCode}


def test_list_reads_no_table_to_offer_its_filters(
    events: None, admin_client: HttpClient, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(14) as queries:
        read_list(admin_client)

    assert not any("DISTINCT" in each["sql"] for each in queries.captured_queries)


@for_each("problem", ["x", "|", "a|b|c"])
def test_unknown_problem_is_no_filter(events: None, admin_client: HttpClient, problem: str) -> None:
    response = admin_client.get(reverse("admin:analytics_operationevent_changelist"), {"problem": problem})

    assert response.status_code == 302  # as for any filter that does not exist
