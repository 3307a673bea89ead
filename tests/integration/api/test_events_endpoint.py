"""The events endpoint: a client reads its own events, newest first, filtered and in pages."""

import base64
import json
from typing import Any

import pytest
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from core.text import lists
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.analytics_rows import store_contents
from workspace.demo import DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

REQUIRED_FIELDS = set(
    """
    id time type op tool_name group entity action entity_id kind ok code reason latency_ms release surface
    cohort source subject session turn trace_id
""".split()
)


def get_events(api: Api, query: str = "") -> list[dict[str, Any]]:
    response = api.get(f"events{query}")
    assert response.status_code == 200, response.content
    return response.json()["results"]


def test_events_are_listed_newest_first(api: Api) -> None:
    api.post("help", {"path": "onto.task.get"}, Gateway_Session="s1", Gateway_Turn="t1")
    api.post(
        "exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}, Gateway_Session="s1", Gateway_Turn="t1"
    )
    api.exec("onto.task.nothing")

    failed_event, exec_event, help_event = get_events(api)

    assert set(exec_event) >= REQUIRED_FIELDS
    call = {"type": "exec", "op": "onto.task.get", "entity_id": DEMO_TASK_ID, "content": None}
    assert exec_event | call | {"session": "s1", "turn": "t1", "subject": DEMO_SUBJECT} == exec_event
    failure = {"op": "onto.task.nothing", "ok": False, "code": "NOT_FOUND", "reason": "unknown_op"}
    assert failed_event | failure == failed_event
    assert help_event["type"] == "help"


def test_events_are_filtered_by_the_query(api: Api) -> None:
    api.post("exec", {"op": "onto.task.list"}, Gateway_Session="s1", Gateway_Turn="t1")
    api.post("exec", {"op": "onto.goal.list"}, Gateway_Session="s1", Gateway_Turn="t2")
    api.post("exec", {"op": "onto.task.list"})
    api.post("exec", {"op": "nothing"})

    for query, ops in (
        ("?session=s1", ["onto.goal.list", "onto.task.list"]),
        ("?turn=t2", ["onto.goal.list"]),
        ("?op=onto.task.list", ["onto.task.list", "onto.task.list"]),
        ("?code=NOT_FOUND", ["nothing"]),
        ("?session=s1&op=onto.goal.list&turn=t1", []),
    ):
        assert [each["op"] for each in get_events(api, query)] == ops, query


def test_pages_list_each_event_once(api: Api) -> None:
    for _ in range(5):
        api.exec("onto.task.list")

    ids, cursor = [], ""
    for _ in range(3):
        page = api.get(f"events?limit=2{cursor}").json()
        ids += [each["id"] for each in page["results"]]
        cursor = f"&cursor={page['next_cursor']}"

    assert ids == sorted(OperationEvent.objects.values_list("id", flat=True), reverse=True)
    assert page["next_cursor"] is None


def test_client_sees_its_own_events_and_a_bound_key_those_of_its_subject(api: Api, make_key: Any) -> None:
    api.exec("onto.task.list")
    bound = Api(make_key(subject="ana"), subject="")
    event_log.flush()
    OperationEvent.objects.update(client="somebody-else")
    bound.exec("onto.task.list")
    event_log.flush()
    own = OperationEvent.objects.exclude(client="somebody-else").get()
    OperationEvent.objects.create(**{**copy_fields(own), "subject": "ben", "trace_id": "tr_other"})

    assert get_events(api) == []
    assert [each["subject"] for each in get_events(bound)] == ["ana"]


def copy_fields(event: OperationEvent) -> dict[str, Any]:
    return {field.attname: getattr(event, field.attname) for field in event._meta.concrete_fields if field.name != "id"}


@for_each("query", ["limit=0", "limit=201", "limit=x", "code=OOPS", "cursor=x", "since=now", "session=", "op=a&op=b"])
def test_malformed_query_gets_field_errors(api: Api, query: str) -> None:
    response = api.get(f"events?{query}")

    assert response.status_code == 400
    assert response.json()["error"]["details"]["field_errors"]


def test_cursor_of_another_list_is_refused(api: Api) -> None:
    cursor = lists.encode_cursor(json.dumps([timezone.now().isoformat(), "a-release"]))

    assert_refused(api.get(f"events?cursor={cursor}"), 400, "malformed_call")


def test_events_contain_args_and_results_when_enabled(api: Api) -> None:
    store_contents(7)
    api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})

    content = get_events(api)[0]["content"]

    assert content["args"] == {"task_id": DEMO_TASK_ID}
    assert content["result"]["task"]["id"] == DEMO_TASK_ID


def test_repeated_call_has_the_same_digest_within_a_turn_only(api: Api) -> None:
    for turn in ("t1", "t1", "t2", ""):
        headers = {"Gateway_Turn": turn} if turn else {}
        api.post("exec", {"op": "onto.task.list", "args": {"limit": 3}}, **headers)
    api.post("exec", {"op": "onto.task.list", "args": {"limit": 4}}, Gateway_Turn="t1")
    get_events(api)

    first, again, other, none, changed = OperationEvent.objects.order_by("id").values_list("digest", flat=True)
    assert first == again
    assert len({first, other, changed}) == 3
    assert none == ""


def test_digest_depends_on_the_secret_pepper(api: Api, settings: Any) -> None:
    api.exec("onto.task.list")  # caches the key, so that it stays valid under another pepper
    for pepper in ("one", "two"):
        settings.GATEWAY_KEY_PEPPER = pepper
        api.post("exec", {"op": "onto.task.list", "args": {"limit": 3}}, Gateway_Turn="t1")
    get_events(api)

    assert len(set(OperationEvent.objects.filter(turn="t1").values_list("digest", flat=True))) == 2


@for_each(
    "at, key",
    [
        ("0001-01-01T00:00:00+14:00", "5"),  # not a time in UTC
        ("9999-12-31T23:59:59-14:00", "5"),
        ("2026-01-01T00:00:00+00:00", "\ud800"),
    ],
)
@for_each("path", ["events", "releases"])
def test_cursor_with_values_that_no_database_accepts_is_refused(api: Api, path: str, at: str, key: str) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([at, key]).encode()).decode().rstrip("=")

    assert_refused(api.get(f"{path}?cursor={cursor}"), 400, "malformed_call")
