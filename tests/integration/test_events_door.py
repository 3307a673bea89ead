"""GET events: a client reads its own, newest first, filtered and page by page."""

import base64
import json
from typing import Any

import pytest
from django.utils import timezone

from analytics.events import event_log as recorded
from analytics.models import OperationEvent
from gateway.api import pagination
from tests.support.api import Api, refused
from workspace.demo import DEMO_SUBJECT, DEMO_TASK_ID

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]

TOLD = {
    *("id", "time", "type", "op", "tool_name", "group", "entity", "action", "entity_id", "kind", "ok", "code"),
    *("reason", "latency_ms", "release", "surface", "cohort", "source", "subject", "session", "turn", "trace_id"),
}


def events(api: Api, query: str = "") -> list[dict[str, Any]]:
    response = api.get(f"events{query}")
    assert response.status_code == 200, response.content
    return response.json()["results"]


def test_what_happened_is_told_newest_first(api: Api) -> None:
    api.post("help", {"path": "onto.task.get"}, Gateway_Session="s1", Gateway_Turn="t1")
    api.post(
        "exec", {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}, Gateway_Session="s1", Gateway_Turn="t1"
    )
    api.exec("onto.task.nothing")

    last, run, read = events(api)

    assert set(run) >= TOLD
    assert (run["type"], run["op"], run["tool_name"], run["kind"]) == (
        *("exec", "onto.task.get", "get_onto_task_details", "read"),
    )
    assert (run["entity"], run["action"], run["entity_id"]) == ("task", "get", DEMO_TASK_ID)
    assert (run["session"], run["turn"], run["subject"], run["source"]) == ("s1", "t1", DEMO_SUBJECT, "api")
    assert (last["ok"], last["code"], last["reason"]) == (False, "NOT_FOUND", "unknown_op")
    assert last["op"] == "onto.task.nothing"
    assert (read["type"], run["content"]) == ("help", None)


@pytest.mark.parametrize(
    ("query", "ops"),
    [
        ("?session=s1", ["onto.goal.list", "onto.task.list"]),
        ("?turn=t2", ["onto.goal.list"]),
        ("?op=onto.task.list", ["onto.task.list", "onto.task.list"]),
        ("?code=NOT_FOUND", ["nothing"]),
        ("?session=s1&op=onto.goal.list&turn=t1", []),
    ],
)
def test_filters(api: Api, query: str, ops: list[str]) -> None:
    api.post("exec", {"op": "onto.task.list"}, Gateway_Session="s1", Gateway_Turn="t1")
    api.post("exec", {"op": "onto.goal.list"}, Gateway_Session="s1", Gateway_Turn="t2")
    api.post("exec", {"op": "onto.task.list"})
    api.post("exec", {"op": "nothing"})

    assert [each["op"] for each in events(api, query)] == ops


def test_pages_are_all_of_them_once(api: Api) -> None:
    for _ in range(5):
        api.exec("onto.task.list")

    seen, cursor = [], ""
    for _ in range(3):
        page = api.get(f"events?limit=2{cursor}").json()
        seen += [each["id"] for each in page["results"]]
        cursor = f"&cursor={page['next_cursor']}"

    assert seen == sorted(OperationEvent.objects.values_list("id", flat=True), reverse=True)
    assert page["next_cursor"] is None


def test_a_client_reads_its_own_events_and_a_bound_key_its_subjects(api: Api, make_key: Any) -> None:
    api.exec("onto.task.list")
    bound = Api(make_key(subject="ana"), subject="")
    recorded.flush()
    OperationEvent.objects.update(client="somebody-else")
    bound.exec("onto.task.list")
    recorded.flush()
    own = OperationEvent.objects.exclude(client="somebody-else").get()
    OperationEvent.objects.create(**{**vars_of(own), "subject": "ben", "trace_id": "tr_other"})

    assert events(api) == []
    assert [each["subject"] for each in events(bound)] == ["ana"]


def vars_of(event: OperationEvent) -> dict[str, Any]:
    return {field.attname: getattr(event, field.attname) for field in event._meta.concrete_fields if field.name != "id"}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "code=OOPS", "cursor=x", "since=now", "session=", "op=a&op=b"]
)
def test_queries_that_are_none_are_told_what_to_send(api: Api, query: str) -> None:
    response = api.get(f"events?{query}")

    assert response.status_code == 400
    assert response.json()["error"]["details"]["field_errors"]


def test_a_cursor_of_another_list_is_none_of_these(api: Api) -> None:
    foreign = pagination.build_page([], (timezone.now(), "a-release"))["next_cursor"]

    refused(api.get(f"events?cursor={foreign}"), 400, "malformed_call")


def test_args_and_results_are_kept_where_that_is_switched_on(api: Api, settings: Any) -> None:
    settings.GATEWAY_CONTENT_DAYS = 7
    api.exec("onto.task.get", {"task_id": DEMO_TASK_ID})

    content = events(api)[0]["content"]

    assert content["args"] == {"task_id": DEMO_TASK_ID}
    assert content["result"]["task"]["id"] == DEMO_TASK_ID


def test_the_same_call_has_one_digest_in_a_turn_and_another_in_the_next(api: Api) -> None:
    for turn in ("t1", "t1", "t2", ""):
        headers = {"Gateway_Turn": turn} if turn else {}
        api.post("exec", {"op": "onto.task.list", "args": {"limit": 3}}, **headers)
    api.post("exec", {"op": "onto.task.list", "args": {"limit": 4}}, Gateway_Turn="t1")
    events(api)

    first, again, other, none, changed = OperationEvent.objects.order_by("id").values_list("digest", flat=True)
    assert first == again
    assert len({first, other, changed}) == 3
    assert none == ""


def test_who_reads_events_cannot_tell_args_by_trying_them(api: Api, settings: Any) -> None:
    api.exec("onto.task.list")  # from here on the key is verified from memory
    for pepper in ("one", "two"):
        settings.GATEWAY_KEY_PEPPER = pepper
        api.post("exec", {"op": "onto.task.list", "args": {"limit": 3}}, Gateway_Turn="t1")
    events(api)

    assert len(set(OperationEvent.objects.filter(turn="t1").values_list("digest", flat=True))) == 2


@pytest.mark.parametrize(
    ("at", "key"),
    [
        ("0001-01-01T00:00:00+14:00", "5"),  # no moment in UTC
        ("9999-12-31T23:59:59-14:00", "5"),
        ("2026-01-01T00:00:00+00:00", "\ud800"),
    ],
)
@pytest.mark.parametrize("path", ["events", "releases"])
def test_a_cursor_that_no_database_could_look_up_is_none(api: Api, path: str, at: str, key: str) -> None:
    cursor = base64.urlsafe_b64encode(json.dumps([at, key]).encode()).decode().rstrip("=")

    refused(api.get(f"{path}?cursor={cursor}"), 400, "malformed_call")
