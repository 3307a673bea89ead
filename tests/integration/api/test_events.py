"""Operation events: help, search and exec each record one event with the request, its outcome and its caller."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import DatabaseError
from django.http import HttpResponse

from analytics.events import event_filters, event_log
from analytics.events.models import OperationEvent
from gateway.models import ApiKey, Client, IdempotencyRecord
from registry.models import Op
from tests.support.clients.api import Api, assert_refused
from tests.support.loops import for_each
from tests.support.rows.catalog_fixture import publish_draft
from workspace.demo import DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

pytestmark = pytest.mark.both_databases

ReadEvents = Callable[[], list[OperationEvent]]
UNKNOWN_ID = "11111111-2222-4333-8444-555555555555"


def read_only_event(read_events: ReadEvents) -> OperationEvent:
    (event,) = read_events()
    return event


def run_op(api: Api, op: str, args: dict[str, Any], **headers: str) -> HttpResponse:
    return api.post("exec", {"op": op, "args": args}, **headers)


def test_event_of_a_read_has_all_fields(api: Api, read_events: ReadEvents, live_catalog: Any) -> None:
    response = run_op(api, "get_task", {"task_id": DEMO_TASK_ID}, Gateway_Session="chat-1", Gateway_Turn="turn-2")

    event = read_only_event(read_events)
    expected = {
        "type": "exec",
        "source": "api",
        "op": "onto.task.get",
        "tool_name": "get_onto_task_details",
        "group": "onto",
        "kind": "read",
        "entity": "task",
        "action": "get",
        "entity_id": DEMO_TASK_ID,
        "ok": True,
        "status": 200,
        "code": "",
        "reason": "",
        "field_errors": [],
        "replayed": False,
        "dry_run": False,
        "release": live_catalog.version,
        "client": Client.objects.get().name,
        "key": ApiKey.objects.get().prefix,
        "subject": "demo-user",
        "session": "chat-1",
        "turn": "turn-2",
        "trace_id": response.headers["Gateway-Trace"],
    }
    assert {name: getattr(event, name) for name in expected} == expected
    assert event.latency_ms > 0


@for_each(
    "op, args, entity, action",
    [
        ("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "x"}, "task", "create"),
        ("onto.task.update", {"task_id": DEMO_TASK_ID, "title": "x"}, "task", "update"),
        ("onto.task.delete", {"task_id": DEMO_TASK_ID}, "task", "delete"),
        ("onto.project.create", {"project": {"name": "x", "type_key": "project.business.a"}}, "project", "create"),
    ],
    undone=True,
)
def test_event_of_a_write_has_the_entity_id(
    api: Api, read_events: ReadEvents, op: str, args: dict[str, Any], entity: str, action: str
) -> None:
    envelope = run_op(api, op, args).json()

    event = read_only_event(read_events)
    assert (event.entity, event.action, event.kind) == (entity, action, "write")
    assert event.entity_id == envelope["meta"]["operation"]["entity_id"] != ""


def test_events_of_a_client_for_itself_have_its_purpose(api: Api, read_events: ReadEvents) -> None:
    read = {"op": "onto.task.get", "args": {"task_id": DEMO_TASK_ID}}

    api.post("exec", read, Gateway_Purpose="context")
    api.post("batch", {"ops": [{"type": "exec", **read}]}, Gateway_Purpose="context")
    api.post("exec", read)

    assert [event.purpose for event in read_events()] == ["context", "context", ""]
    assert OperationEvent.objects.filter(event_filters.CALL).count() == 1


def test_op_without_an_action_runs_and_has_an_event(api: Api, read_events: ReadEvents) -> None:
    Op.objects.filter(op="onto.task.create").update(action="")
    publish_draft()

    envelope = run_op(api, "onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "x"}).json()

    assert envelope["ok"], envelope
    event = read_only_event(read_events)
    assert (event.entity, event.action) == ("task", "")


def test_event_of_invalid_args_has_field_errors_without_values(api: Api, read_events: ReadEvents) -> None:
    assert_refused(run_op(api, "onto.task.update", {"task_id": "7e3b9f20", "priority": 9}), 400, "invalid_args")

    event = read_only_event(read_events)
    assert (event.ok, event.status, event.code, event.reason) == (False, 400, "VALIDATION_ERROR", "invalid_args")
    assert sorted(event.field_errors) == [["/priority", "maximum"], ["/task_id", "format"]]
    assert event.entity_id == ""


def test_event_of_a_domain_error_has_the_requested_entity_id(api: Api, read_events: ReadEvents) -> None:
    assert_refused(run_op(api, "onto.task.delete", {"task_id": UNKNOWN_ID}), 404, "not_found")

    event = read_only_event(read_events)
    assert (event.code, event.reason, event.entity_id) == ("NOT_FOUND", "not_found", UNKNOWN_ID)


def test_event_of_an_unknown_op_has_the_truncated_name(api: Api, read_events: ReadEvents) -> None:
    assert_refused(run_op(api, "x" * 500, {}), 404, "unknown_op")

    event = read_only_event(read_events)
    assert (event.op, event.tool_name, event.kind) == ("x" * 200, "", "")


@for_each(
    "body, type, op, result_count, format",
    [
        ({"path": "root"}, "help", "root", 5, ""),
        ({"path": "onto.goal", "format": "full"}, "help", "onto.goal", 6, ""),
        ({"path": "get_task"}, "help", "onto.task.get", None, "short"),
        ({"path": "onto.task.list", "format": "full"}, "help", "onto.task.list", None, "full"),
        ({"path": "onto.task.list", "arg": "limit", "format": "full"}, "help", "onto.task.list", None, "arg"),
        ({"query": "zzzzzz"}, "search", "", 0, ""),
    ],
    undone=True,
)
def test_event_of_help_has_path_result_count_and_format(
    api: Api,
    read_events: ReadEvents,
    live_catalog: Any,
    body: dict[str, Any],
    type: str,
    op: str,
    result_count: int | None,
    format: str,
) -> None:
    assert api.post("help", body).status_code == 200

    event = read_only_event(read_events)
    assert (event.type, event.op, event.result_count, event.format) == (type, op, result_count, format)
    assert (event.ok, event.subject, event.release) == (True, "demo-user", live_catalog.version)


@for_each(
    "op, args, result_count",
    [
        ("onto.task.list", {"limit": 2}, 2),
        ("onto.task.search", {"query": "zzzzzz"}, 0),
        ("onto.task.get", {"task_id": DEMO_TASK_ID}, None),
        ("onto.task.get", {"task_id": "the first"}, None),
        ("onto.project.create", {"name": "A project"}, None),
    ],
    undone=True,
)
def test_event_of_a_list_has_the_result_count(
    api: Api, read_events: ReadEvents, op: str, args: dict[str, Any], result_count: int | None
) -> None:
    api.exec(op, args)

    assert read_only_event(read_events).result_count == result_count


@for_each(
    "endpoint, body, type, op, reason",
    [
        ("help", {"path": "onto.nothing"}, "help", "onto.nothing", "unknown_path"),
        ("help", {"path": "onto.task.get", "arg": "nothing"}, "help", "onto.task.get", "unknown_argument"),
        ("help", {"query": "x", "arg": "y"}, "search", "", "malformed_call"),
        ("help", {"limit": 0}, "help", "", "malformed_call"),
        ("help", [], "help", "", "not_an_object"),
        ("exec", [], "exec", "", "not_an_object"),
        ("exec", {}, "exec", "", "empty_call"),
    ],
    undone=True,
)
def test_event_of_a_malformed_call_has_the_reason(
    api: Api, read_events: ReadEvents, endpoint: str, body: Any, type: str, op: str, reason: str
) -> None:
    assert api.post(endpoint, body).status_code in (400, 404)

    event = read_only_event(read_events)
    assert (event.type, event.op, event.reason, event.ok) == (type, op, reason, False)


@for_each("headers", [{"Gateway-Context": "x="}, {"Gateway-Turn": "ä"}], undone=True)
def test_event_of_a_refused_header_has_the_reason(api: Api, read_events: ReadEvents, headers: dict[str, str]) -> None:
    assert_refused(api.post("exec", {}, **headers), 400, "bad_header")

    event = read_only_event(read_events)
    assert (event.type, event.reason, event.client) == ("exec", "bad_header", Client.objects.get().name)


def test_event_of_help_without_its_scope_has_the_reason(
    make_api: Callable[..., Api], live_catalog: Any, read_events: ReadEvents
) -> None:
    api = make_api(scopes=["exec:read"])

    assert_refused(api.post("help", {}), 403, "scope_missing")

    assert read_only_event(read_events).reason == "scope_missing"


def test_event_of_a_write_is_stored_before_the_response(api: Api) -> None:
    run_op(api, "onto.task.delete", {"task_id": DEMO_TASK_ID})

    assert OperationEvent.objects.filter(op="onto.task.delete", ok=True).count() == 1  # without a flush


@pytest.mark.django_db(transaction=True)
def test_write_is_undone_when_its_event_cannot_be_stored(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "record_event", Mock(side_effect=DatabaseError("no space left")))
    response = api.post(
        "exec", {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}, "idempotency_key": "once"}
    )

    assert response.status_code >= 500
    assert response.json()["error"]["code"] == "INTERNAL"
    assert Task.objects.filter(pk=DEMO_TASK_ID, deleted_at=None).exists()
    assert not IdempotencyRecord.objects.exists()
    assert not OperationEvent.objects.filter(ok=True).exists()
