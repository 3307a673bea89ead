"""Idempotency keys: a repeated call runs once and gets the same response."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analytics.events.models import OperationEvent
from core.background import poller
from core.handler_contract import StateConflict
from gateway.access import api_keys
from gateway.contracts.errors import NotFoundError
from gateway.models import ApiKey, Client, IdempotencyRecord
from registry.models import Op
from registry.releases import publishing
from tests.support.clients.api import SECRET, Api, assert_refused
from tests.support.clients.batches import wrap_handler
from tests.support.loops import for_each
from workspace.demo import DEMO_COLLEAGUE, DEMO_PROJECT_ID, DEMO_TASK_ID
from workspace.models import Task

pytestmark = pytest.mark.both_databases

CREATE = {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "Call the printer"}}
KEY = "turn-7:call-1"


def count_created_tasks() -> int:
    return Task.objects.filter(title="Call the printer").count()


def test_repeated_call_is_replayed_and_runs_once(api: Api) -> None:
    first = api.post("exec", CREATE | {"idempotency_key": KEY})
    again = api.post("exec", CREATE | {"idempotency_key": KEY})

    assert count_created_tasks() == 1
    assert again.status_code == first.status_code == 200
    assert again.json()["result"] == first.json()["result"]
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["meta"]["replayed"] is True
    assert again.json()["meta"]["original_trace_id"] == first.json()["meta"]["trace_id"]
    assert again.json()["meta"]["trace_id"] == again.headers["Gateway-Trace"] != first.headers["Gateway-Trace"]
    assert again.json()["meta"]["operation"] == first.json()["meta"]["operation"]


def test_stored_response_comes_before_an_op_that_can_no_longer_run(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    first = api.post("exec", CREATE | {"idempotency_key": KEY})
    assert first.status_code == 200
    refusal = NotFoundError("It is gone.", reason="gone")
    monkeypatch.setattr("gateway.execution.parse.validate", Mock(side_effect=refusal))

    again = api.post("exec", CREATE | {"idempotency_key": KEY})
    other = api.post("exec", CREATE | {"args": CREATE["args"] | {"title": "Other"}, "idempotency_key": KEY})
    fresh = api.post("exec", CREATE | {"idempotency_key": "turn-7:call-2"})

    assert again.json()["result"] == first.json()["result"]
    assert_refused(other, 422, "idempotency_key_reused")
    assert_refused(fresh, 404, "gone")


def test_key_of_a_write_costs_no_round_trip_of_its_own(api: Api) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite runs in the process")
    counts = []
    for number in range(2):
        for key in ({}, {"idempotency_key": f"turn-{number}"}):
            with CaptureQueriesContext(connection) as queries:
                assert api.post("exec", CREATE | key).status_code == 200
            counts.append(len(queries))

    assert counts[2] == counts[3]  # the first ones fill caches


@for_each(
    "again",
    [
        {"op": "create_onto_task", "args": CREATE["args"]},  # the same op with another name
        {"op": "task.create", "args": {"title": "Call the printer", "project_id": DEMO_PROJECT_ID}},  # another order
    ],
    undone=True,
)
def test_call_is_replayed_when_written_differently(api: Api, again: dict[str, Any]) -> None:
    api.post("exec", CREATE | {"idempotency_key": KEY})

    assert api.post("exec", again | {"idempotency_key": KEY}).json()["meta"]["replayed"] is True


@for_each(
    "other",
    [
        {"op": "onto.task.create", "args": {"project_id": DEMO_PROJECT_ID, "title": "Another"}},
        {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}},
        {"op": "onto.task.create", "args": {"projectId": DEMO_PROJECT_ID, "title": "Call the printer"}},
        {"op": "nothing", "args": {}},
    ],
    undone=True,
)
def test_key_is_refused_for_another_call(api: Api, other: dict[str, Any]) -> None:
    api.post("exec", CREATE | {"idempotency_key": KEY})

    response = api.post("exec", other | {"idempotency_key": KEY})

    error = assert_refused(response, 422, "idempotency_key_reused")
    assert error["code"] == "CONFLICT"
    assert error["details"]["retryable"] is False
    assert Task.objects.filter(pk=DEMO_TASK_ID, deleted_at=None).exists()


def test_key_is_accepted_in_header_or_body(api: Api) -> None:
    first = api.post("exec", CREATE, Idempotency_Key=KEY)
    again = api.post("exec", CREATE | {"idempotency_key": KEY})
    both = api.post("exec", CREATE | {"idempotency_key": KEY}, Idempotency_Key=KEY)

    assert first.json()["result"] == again.json()["result"] == both.json()["result"]
    assert count_created_tasks() == 1


def test_key_is_refused_when_header_and_body_differ(api: Api) -> None:
    response = api.post("exec", CREATE | {"idempotency_key": KEY, "dry_run": True}, Idempotency_Key="another")

    error = assert_refused(response, 400, "idempotency_key_mismatch")
    assert response.json()["meta"]["dry_run"] is True
    assert error["details"]["field_errors"][0]["path"] == "/idempotency_key"
    assert count_created_tasks() == 0


@for_each("key", ["", "two words", "x" * 256, "schlüssel", "tab\tbed", "\x7f"])
def test_malformed_key_in_header_is_refused(api: Api, key: str) -> None:
    assert_refused(api.post("exec", CREATE, Idempotency_Key=key), 400, "bad_header")

    assert count_created_tasks() == 0


def test_domain_error_is_replayed_after_its_cause_is_gone(api: Api) -> None:
    body = {"op": "onto.task.delete", "args": {"task_id": DEMO_TASK_ID}, "idempotency_key": KEY}
    Task.objects.filter(pk=DEMO_TASK_ID).update(deleted_at=timezone.now())
    first = api.post("exec", body)

    Task.objects.filter(pk=DEMO_TASK_ID).update(deleted_at=None)
    again = api.post("exec", body)

    assert assert_refused(first, 404, "not_found") == assert_refused(again, 404, "not_found")
    assert again.headers["Idempotent-Replayed"] == "true"
    assert IdempotencyRecord.objects.get().status == 404


@for_each(
    "body, status, reason",
    [
        ({"op": "onto.task.create", "args": {}}, 400, "invalid_args"),
        ({"op": "onto.task.create", "args": "{}"}, 400, "malformed_call"),
        ({"op": "nothing", "args": {}}, 404, "unknown_op"),
    ],
    undone=True,
)
def test_key_stays_free_when_the_call_did_not_run(api: Api, body: dict[str, Any], status: int, reason: str) -> None:
    assert_refused(api.post("exec", body | {"idempotency_key": KEY}), status, reason)

    assert not IdempotencyRecord.objects.exists()
    assert api.post("exec", CREATE | {"idempotency_key": KEY}).json()["ok"] is True


def test_key_belongs_to_one_client_and_subject(make_api: Callable[..., Api], live_catalog: Any) -> None:
    api, stranger = make_api(), make_api()
    colleague = Api(api.headers["Authorization"].removeprefix("Bearer "), DEMO_COLLEAGUE)

    for each in (api, stranger, colleague):
        each.post("exec", CREATE | {"idempotency_key": KEY})

    assert count_created_tasks() == 2  # the colleague may not write, and got no replay
    assert IdempotencyRecord.objects.count() == 3


def test_key_is_shared_by_all_keys_of_a_client(api: Api) -> None:
    _, other = api_keys.issue(client=Client.objects.get(), by="tests")

    api.post("exec", CREATE | {"idempotency_key": KEY})
    again = Api(other).post("exec", CREATE | {"idempotency_key": KEY})

    assert again.json()["meta"]["replayed"] is True


def test_replay_works_when_the_op_is_retired(api: Api) -> None:
    api.post("exec", CREATE | {"idempotency_key": KEY})
    Op.objects.filter(op="onto.task.create").update(status=Op.Status.RETIRED)
    publishing.publish_draft(note="Retire", by="tests", at=timezone.now(), accepted="Texts name what is retired")
    poller.refresh()

    assert api.post("exec", CREATE | {"idempotency_key": KEY}).json()["meta"]["replayed"] is True
    assert_refused(api.post("exec", CREATE | {"idempotency_key": "new"}), 404, "unknown_op")


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"scopes": ["help", "exec:read"]}, "scope_missing"), ({"op_patterns": ["util.*"]}, "op_not_allowed")],
)
def test_replay_needs_permission(api: Api, change: dict[str, Any], reason: str) -> None:
    api.post("exec", CREATE | {"idempotency_key": KEY})
    row = ApiKey.objects.get() if "scopes" in change else Client.objects.get()
    for name, value in change.items():
        setattr(row, name, value)
    row.save()
    poller.refresh()

    assert_refused(api.post("exec", CREATE | {"idempotency_key": KEY}), 403, reason)


def test_read_ignores_a_key_with_a_warning(api: Api) -> None:
    done = api.exec("onto.task.list", idempotency_key=KEY)

    assert done["meta"]["warnings"] == ["Ignored the idempotency key: reads do not need one."]
    assert not IdempotencyRecord.objects.exists()


def test_read_ignores_a_key_in_the_header_silently(api: Api) -> None:
    response = api.post("exec", {"op": "onto.task.list", "args": {}}, Idempotency_Key=KEY)

    assert response.json()["meta"]["warnings"] == []
    assert not IdempotencyRecord.objects.exists()


def test_bug_in_a_handler_undoes_the_write_and_frees_the_key(
    api: Api, monkeypatch: pytest.MonkeyPatch, read_events: Callable[[], list[OperationEvent]]
) -> None:
    with monkeypatch.context() as patch:
        wrap_handler(patch, "create_onto_task", after=Mock(side_effect=ZeroDivisionError(SECRET)))
        response = api.post("exec", CREATE | {"idempotency_key": KEY})

    error = assert_refused(response, 500, "internal")
    assert error["code"] == "INTERNAL"
    assert count_created_tasks() == 0
    assert not IdempotencyRecord.objects.exists()
    assert [(event.op, event.code, event.status) for event in read_events()] == [("onto.task.create", "INTERNAL", 500)]
    assert api.post("exec", CREATE | {"idempotency_key": KEY}).json()["ok"] is True
    assert count_created_tasks() == 1


def test_domain_error_undoes_changes_made_before_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = StateConflict("The project moved meanwhile. Read it again.", reason="moved")
    wrap_handler(monkeypatch, "create_onto_task", after=Mock(side_effect=refusal))
    response = api.post("exec", CREATE | {"idempotency_key": KEY})

    assert assert_refused(response, 409, "moved")["code"] == "CONFLICT"
    assert count_created_tasks() == 0
    assert IdempotencyRecord.objects.get().status == 409
