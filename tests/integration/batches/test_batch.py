"""Batches through the API: order, references, idempotency keys, background batches, cancelling, the embedded worker."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import chain, repeat
from typing import Any
from unittest.mock import DEFAULT, Mock
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from analytics.events.models import OperationEvent
from core.background import poller
from core.handler_contract import OpOutcome
from gateway.access import api_keys
from gateway.batches import responses, service, store, sweep
from gateway.execution import local_write
from gateway.models import ApiKey, Batch, BatchEntry
from registry.models import Op
from registry.releases import publishing
from tests.support.clients.api import Api, assert_refused
from tests.support.clients.batches import (
    INVALID,
    LIST,
    build_create_entry,
    get_reasons,
    hold_op,
    require_parallel_calls,
    send_background_batch,
    send_batch,
    slow_down_op,
    sweep_until_done,
    wait_until_done,
    wrap_handler,
)
from tests.support.concurrency import run_at_once
from tests.support.servers.processes import PATIENCE
from workspace.demo import DEMO_TASK_ID
from workspace.handlers import HANDLERS
from workspace.models import Task

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("wait_for_running_entries"),
]


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_batch_answers_help_and_exec_entries_in_request_order(api: Api, embedded_worker: None, mode: str) -> None:
    batch = send_batch(
        api, {"type": "help", "path": "onto.task"}, LIST, {"type": "help", "path": "no.such"}, INVALID, mode=mode
    )

    assert set(batch) == {"batch_id", "ok", "results", "summary", "meta"}
    assert (batch["ok"], batch["summary"]) == (False, {"succeeded": 2, "failed": 2, "skipped": 0})
    help = {"type": "help", "path": "onto.task", "ok": True, "result": api.help("onto.task")}
    assert batch["results"][0] == {"index": 0, **help}
    assert batch["results"][1]["result"]["tasks"][0]["id"]
    assert batch["results"][2]["error"]["code"] == "NOT_FOUND"
    assert batch["results"][2]["error"]["help_path"] == "root"
    assert get_reasons(batch) == ["", "", "unknown_path", "invalid_args"]
    assert set(batch["results"][3]) == {"index", "type", "op", "ok", "error", "meta"}
    assert {each["meta"]["trace_id"] for each in (batch, batch["results"][1])} == {batch["meta"]["trace_id"]}


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_batch_passes_results_from_entry_to_entry(api: Api, embedded_worker: None, mode: str) -> None:
    renamed = {
        "type": "exec",
        "op": "onto.task.update",
        "args": {"task_id": {"$result": "0#/result/task/id"}, "description": {"$result": "1#/result/path"}},
    }
    batch = send_batch(api, build_create_entry("First"), {"type": "help", "path": "onto.task.get"}, renamed, mode=mode)

    assert batch["ok"], batch
    task = Task.objects.get(title="First")
    assert (str(task.pk), task.description) == (batch["results"][2]["result"]["task"]["id"], "onto.task.get")


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_entry_fails_alone_when_its_reference_or_dependency_fails(api: Api, embedded_worker: None, mode: str) -> None:
    missing = {"type": "exec", "op": "onto.task.get", "args": {"task_id": {"$result": "0#/result/tasks/9/id"}}}
    after_bad = {**LIST, "depends_on": [1]}
    after_that = {"type": "help", "path": "onto", "depends_on": [3]}
    batch = send_batch(api, LIST, INVALID, missing, after_bad, after_that, LIST, mode=mode)

    assert get_reasons(batch) == ["", "invalid_args", "result_missing", "dependency_failed", "dependency_failed", ""]
    assert [each["error"]["help_path"] for each in batch["results"][3:5]] == ["onto.task.list", "onto"]
    assert batch["summary"] == {"succeeded": 2, "failed": 2, "skipped": 2}
    error = batch["results"][2]["error"]
    assert (error["code"], error["details"]["field_errors"][0]["path"]) == ("VALIDATION_ERROR", "/args/task_id")
    assert batch["results"][3]["error"]["code"] == "CONFLICT"
    assert batch["results"][4]["path"] == "onto"


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_entry_that_does_not_run_has_the_canonical_op_name(api: Api, embedded_worker: None, mode: str) -> None:
    by_tool_name = {"type": "exec", "op": "get_onto_task_details"}
    missing = {**by_tool_name, "args": {"task_id": {"$result": "0#/result/tasks/9/id"}}}

    batch = send_batch(api, LIST, missing, {**by_tool_name, "depends_on": [1]}, mode=mode)

    assert get_reasons(batch) == ["", "result_missing", "dependency_failed"]
    assert [each["op"] for each in batch["results"][1:]] == ["onto.task.get"] * 2
    assert batch["results"][1]["error"]["help_path"] == "onto.task.get"


def test_entry_with_an_unresolved_reference_is_recorded_as_an_event(
    api: Api, read_events: Callable[[], list[OperationEvent]]
) -> None:
    send_batch(api, LIST, {**LIST, "args": {"cursor": {"$result": "0#/result/nothing"}}})

    events = [(event.op, event.ok, event.reason) for event in read_events()]
    assert sorted(events) == [("onto.task.list", False, "result_missing"), ("onto.task.list", True, "")]


def test_reference_is_refused_when_it_nests_args_too_deeply(api: Api) -> None:
    def nested(inner: Any, **more: Any) -> dict[str, Any]:
        for _ in range(20):
            inner = {"a": inner}
        return build_create_entry("Deep", **more) | {"args": {**build_create_entry("Deep")["args"], "props": inner}}

    batch = send_batch(api, nested(1), nested({"$result": "0#/result/task/props"}))

    assert get_reasons(batch) == ["", "too_deep"]
    assert batch["results"][1]["error"]["code"] == "VALIDATION_ERROR"
    assert Task.objects.filter(title="Deep").count() == 1


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_entry_fails_alone_when_its_result_cannot_be_rendered(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    broken = replace(HANDLERS["list_onto_tasks"], apply=lambda _: OpOutcome({"tasks": [object()]}))
    monkeypatch.setitem(HANDLERS, "list_onto_tasks", broken)

    batch = send_batch(api, LIST, {"type": "help", "path": "onto"}, mode=mode)

    assert get_reasons(batch) == ["internal", ""]
    assert batch["results"][0]["error"]["code"] == "INTERNAL"


def test_stop_on_error_skips_the_remaining_entries(api: Api) -> None:
    batch = send_batch(api, build_create_entry("Before"), INVALID, build_create_entry("After"), stop_on_error=True)

    assert get_reasons(batch) == ["", "invalid_args", "skipped"]
    assert batch["results"][2]["error"]["help_path"] == "onto.task.create"
    assert set(Task.objects.filter(title__in=["Before", "After"]).values_list("title", flat=True)) == {"Before"}
    goes_on = send_batch(api, build_create_entry("Before"), INVALID, build_create_entry("After"))
    assert get_reasons(goes_on) == ["", "invalid_args", ""]


def test_malformed_batch_runs_no_entry(api: Api) -> None:
    error = assert_refused(
        api.post("batch", {"ops": [build_create_entry("Never"), {"type": "exec"}]}), 400, "malformed_call"
    )

    assert error["details"]["field_errors"][0]["path"] == "/ops/1/op"
    assert "Entry 1" in error["message"]
    assert not Task.objects.filter(title="Never").exists()
    assert not Batch.objects.exists()


def test_parallel_entries_run_at_the_same_time(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    require_parallel_calls(monkeypatch, "list_onto_tasks", 8)

    batch = send_batch(api, *[LIST] * 8, mode="parallel")

    assert batch["ok"]
    assert batch["meta"]["warnings"] == []


def test_waiting_thread_runs_all_entries_without_a_broker(api: Api, queued_batches: list[str]) -> None:
    batch = send_batch(api, *[LIST] * 5, INVALID, mode="parallel")

    assert batch["summary"] == {"succeeded": 5, "failed": 1, "skipped": 0}
    assert batch["meta"]["warnings"][0].startswith("degraded_sequential")


def test_twelve_parallel_writes_of_one_row_all_take_effect(api: Api, embedded_worker: None) -> None:
    append = {"task_id": DEMO_TASK_ID, "update_strategy": "append"}
    ops = [
        {"type": "exec", "op": "onto.task.update", "args": {**append, "description": f"line {number}"}}
        for number in range(12)
    ]

    batch = send_batch(api, *ops, mode="parallel")

    assert batch["ok"], batch
    assert all(f"line {number}" in Task.objects.get(pk=DEMO_TASK_ID).description for number in range(12))


@pytest.mark.parametrize("header", [False, True])
def test_batch_is_replayed_under_its_idempotency_key(api: Api, header: bool) -> None:
    body = {"ops": [build_create_entry("Once"), {**LIST}]}
    key = {"Idempotency_Key": "batch-1"} if header else {}
    sent = body if header else body | {"idempotency_key": "batch-1"}

    first, again = (api.post("batch", sent, **key) for _ in range(2))

    assert Task.objects.filter(title="Once").count() == 1
    assert again.json()["batch_id"] == first.json()["batch_id"]
    assert again.json()["results"] == first.json()["results"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["meta"]["replayed"] is True
    other = api.post("batch", {"ops": [build_create_entry("Other")], "idempotency_key": "batch-1"})
    assert_refused(other, 422, "idempotency_key_reused")


def test_concurrent_duplicates_of_a_batch_have_one_effect(api: Api, embedded_worker: None) -> None:
    body = {
        "ops": [build_create_entry(f"Duplicate {number}") for number in range(4)],
        "mode": "parallel",
        "idempotency_key": "once",
    }

    duplicates = run_at_once([lambda: api.post("batch", body)] * 6)

    assert {response.status_code for response in duplicates} == {200}
    assert len({response.json()["batch_id"] for response in duplicates}) == 1
    assert all(response.json()["ok"] for response in duplicates)
    assert Task.objects.filter(title__startswith="Duplicate").count() == 4


def test_entry_with_its_own_idempotency_key_is_replayed_everywhere(api: Api) -> None:
    entry = build_create_entry("Keyed", idempotency_key="mine")
    send_batch(api, entry)

    again = send_batch(api, entry)
    alone = api.post("exec", {name: value for name, value in entry.items() if name != "type"})

    assert again["results"][0]["meta"]["replayed"] is True
    assert alone.headers["Idempotent-Replayed"] == "true"
    assert Task.objects.filter(title="Keyed").count() == 1


def test_batch_records_one_event_per_entry(api: Api, read_events: Callable[[], list[OperationEvent]]) -> None:
    batch = send_batch(
        api,
        {"type": "help", "path": "onto"},
        build_create_entry("Recorded"),
        INVALID,
        {"type": "help", "path": "no.such"},
    )

    events = [(event.type, event.op, event.source, event.ok) for event in read_events()]
    assert sorted(events) == [
        ("exec", "onto.task.create", "batch", True),
        ("exec", "onto.task.get", "batch", False),
        ("help", "no.such", "batch", False),
        ("help", "onto", "batch", True),
    ]
    assert {event.trace_id for event in read_events()} == {batch["meta"]["trace_id"]}


def test_background_batch_is_polled_at_its_location(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_op(monkeypatch, "list_onto_tasks"):
        accepted = api.post("batch", {"ops": [LIST, {"type": "help", "path": "onto"}]}, Prefer="respond-async, wait=5")

    assert accepted.status_code == 202
    assert accepted.headers["Preference-Applied"] == "respond-async"
    location = accepted.headers["Location"].removeprefix("/api/v1/")
    assert location == f"batches/{accepted.json()['batch_id']}"
    assert accepted.json()["results"][1] == {"index": 1, "type": "help", "path": "onto", "status": "pending"}
    until, batch = time.monotonic() + PATIENCE, accepted.json()
    statuses = [batch["status"]]
    while batch["status"] not in ("done", "cancelled") and time.monotonic() < until:
        batch = api.get(f"{location}?wait=5").json()
        statuses.append(batch["status"])
    assert statuses[-1] == "done"
    assert len(statuses) < 8  # each poll waited until something changed
    assert (batch["ok"], batch["summary"]) == (True, {"succeeded": 2, "failed": 0, "skipped": 0, "pending": 0})


def test_cancel_stops_entries_that_have_not_started(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_op(monkeypatch, "list_onto_tasks") as started:
        accepted = api.post("batch", {"ops": [LIST, build_create_entry("Never")]}, Prefer="respond-async").json()
        assert started.wait(10)

        cancelled = api.http.delete(f"/api/v1/batches/{accepted['batch_id']}", headers=api.headers)

    assert cancelled.status_code == 200
    assert cancelled.json()["results"][0]["status"] == "running"
    assert cancelled.json()["results"][1]["error"]["details"]["reason"] == "cancelled"
    assert cancelled.json()["results"][1]["error"]["help_path"] == "onto.task.create"
    batch = cancelled.json()
    while batch["status"] == "running":
        batch = api.get(f"batches/{accepted['batch_id']}?wait=5").json()
    assert (batch["status"], batch["results"][0]["ok"]) == ("cancelled", True)
    assert not Task.objects.filter(title="Never").exists()


def test_batch_is_visible_to_its_sender_only(api: Api, make_api: Callable[..., Api]) -> None:
    id = send_batch(api, LIST)["batch_id"]
    same_client = Api(api.headers["Authorization"].removeprefix("Bearer "), "other-user")

    for stranger in (make_api(), same_client):
        assert_refused(stranger.get(f"batches/{id}"), 404, "unknown_batch")
        gone = stranger.http.delete(f"/api/v1/batches/{id}", headers=stranger.headers)
        assert_refused(gone, 404, "unknown_batch")
    assert_refused(api.get(f"batches/{uuid4()}"), 404, "unknown_batch")
    assert_refused(api.get("batches/1"), 404, "unknown_address")
    for wait in ("x", "-1", "1.5", "21", "99999", "", "1&wait=2", "1&more=1"):
        error = assert_refused(api.get(f"batches/{id}?wait={wait}"), 400, "malformed_call")
        assert "0 to 20" in error["message"]
    assert api.get(f"batches/{id}").json()["status"] == "done"


def test_batch_checks_the_scopes_of_the_key_for_every_entry(make_api: Callable[..., Api], live_catalog: Any) -> None:
    read_only = make_api(scopes=["batch", "exec:read"])

    batch = send_batch(read_only, LIST, build_create_entry("Never"), {"type": "help", "path": "onto"})

    assert get_reasons(batch) == ["", "scope_missing", "scope_missing"]
    assert_refused(make_api(scopes=["exec:read"]).post("batch", {"ops": [LIST]}), 403, "scope_missing")


def test_batch_results_require_the_scopes_of_its_entries(api: Api) -> None:
    body = {"ops": [LIST, {"type": "help", "path": "onto"}], "idempotency_key": "shared"}
    id = api.post("batch", body).json()["batch_id"]
    client = ApiKey.objects.get().client

    for scopes in (["batch", "help"], ["batch", "exec:read"]):
        other = Api(api_keys.issue(client=client, by="tests", scopes=scopes)[1])
        assert_refused(other.get(f"batches/{id}"), 403, "scope_missing")
        assert_refused(other.post("batch", body), 403, "scope_missing")
    enough = Api(api_keys.issue(client=client, by="tests", scopes=["batch", "help", "exec:read"])[1])
    assert enough.get(f"batches/{id}").json()["ok"]
    assert enough.post("batch", body).json()["ok"]


def test_rate_limit_counts_every_entry_of_a_batch(make_api: Callable[..., Api], live_catalog: Any) -> None:
    api = make_api(rate=5)

    send_batch(api, *[{"type": "help", "path": "onto"}] * 20)

    assert assert_refused(api.post("batch", {"ops": [LIST]}), 429, "rate_limited")


def test_batch_keeps_its_release_when_another_is_published(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hold_op(monkeypatch, "list_onto_tasks"):
        accepted = api.post(
            "batch", {"ops": [LIST, {"type": "help", "path": "onto.task.list"}]}, Prefer="respond-async"
        )
        Op.objects.filter(op="onto.task.list").update(summary="Another summary")
        publishing.publish_draft(note="changed", by="tests", at=timezone.now())
        poller.refresh()

    id = accepted.json()["batch_id"]
    wait_until_done(api, id)
    done = api.get(f"batches/{id}")

    assert done.json()["results"][1]["result"]["summary"] != "Another summary"
    assert api.help("onto.task.list")["summary"] == "Another summary"
    assert accepted.headers["Gateway-Release"] == done.headers["Gateway-Release"]


def test_batch_that_times_out_can_be_polled(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.GATEWAY_BATCH_SECONDS = 5  # in which the worker begins the entry
    monkeypatch.setattr(service, "WORKER_HEAD_START", 60.0)  # the held entry must not be run by the waiting request
    after = {"type": "help", "path": "onto", "depends_on": [0]}

    with hold_op(monkeypatch, "list_onto_tasks"):  # the batch is answered before this entry ends
        batch = send_batch(api, LIST, {"type": "help", "path": "onto"}, after, mode="parallel")

    assert get_reasons(batch) == ["timeout", "", "cancelled"]
    assert batch["results"][0]["error"]["code"] == "INTERNAL"
    assert batch["results"][0]["error"]["details"]["batch_id"] == batch["batch_id"]
    wait_until_done(api, batch["batch_id"])
    assert api.get(f"batches/{batch['batch_id']}").json()["results"][0]["ok"]


def test_background_batch_continues_after_a_caller_waited_for_it(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.GATEWAY_BATCH_SECONDS = 1
    slow_down_op(monkeypatch, "list_onto_tasks", 1.2)
    body = {"ops": [LIST, LIST], "idempotency_key": "long"}
    id = api.post("batch", body, Prefer="respond-async").json()["batch_id"]

    waited = api.post("batch", body).json()

    assert waited["batch_id"] == id
    assert get_reasons(waited)[1] == "timeout"
    assert api.get(f"batches/{id}").json()["results"][1]["status"] == "pending"


def test_batch_is_answered_after_a_brief_database_outage(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage = chain([OperationalError("gone"), InterfaceError("still gone")], repeat(DEFAULT))
    monkeypatch.setattr(store, "load_entry_states", Mock(wraps=store.load_entry_states, side_effect=outage))

    assert send_batch(api, build_create_entry("During"))["ok"]
    assert Task.objects.filter(title="During").count() == 1


def test_entry_that_lost_its_connection_is_run_again(
    api: Api, embedded_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    outage = chain([OperationalError("gone")], repeat(DEFAULT))
    monkeypatch.setattr(local_write, "run", Mock(wraps=local_write.run, side_effect=outage))

    assert send_batch(api, build_create_entry("Lost"))["ok"]
    assert Task.objects.filter(title="Lost").count() == 1
    assert BatchEntry.objects.get().attempts == 2


def test_batch_is_not_reported_as_undone_when_its_results_cannot_be_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(responses, "build_results", Mock(side_effect=OperationalError("gone")))

    error = assert_refused(api.post("batch", {"ops": [build_create_entry("Done")]}), 503, "unavailable")

    assert error["details"]["batch_id"] in error["message"]
    assert "othing was" not in error["message"]
    assert Task.objects.filter(title="Done").count() == 1


def test_batch_stops_when_its_key_is_revoked(api: Api, queued_batches: list[str]) -> None:
    id = send_background_batch(api, build_create_entry("Never"))
    api_keys.revoke(ApiKey.objects.get(), by="tests", at=timezone.now())

    sweep_until_done(id)

    entry = BatchEntry.objects.get(batch=id)
    assert (entry.outcome, "key_revoked" in entry.answer) == ("failed", True)
    assert not Task.objects.filter(title="Never").exists()


def test_entry_runs_once_more_when_its_runner_died(api: Api, queued_batches: list[str]) -> None:
    id = send_background_batch(api, build_create_entry("Again"))
    BatchEntry.objects.filter(batch=id).update(
        state="running", holder="dead", held_until=timezone.now() - timedelta(seconds=1), attempts=1
    )

    sweep_until_done(id)

    entry = BatchEntry.objects.get(batch=id)
    assert (entry.outcome, entry.attempts) == ("succeeded", 2)
    assert Task.objects.filter(title="Again").count() == 1


def test_entry_is_given_up_when_three_runners_died(api: Api, queued_batches: list[str]) -> None:
    id = send_background_batch(api, build_create_entry("Deadly"), LIST)
    BatchEntry.objects.filter(batch=id, index=0).update(
        state="running", holder="dead", held_until=timezone.now() - timedelta(seconds=1), attempts=3
    )

    sweep.sweep_batches()

    batch = api.get(f"batches/{id}").json()
    assert batch["results"][0]["error"]["details"]["reason"] == "runner_lost"
    assert batch["results"][1]["status"] == "pending"


def test_runner_undoes_its_change_when_it_lost_the_entry(
    api: Api, queued_batches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken_over = threading.Event()

    def lose_entry() -> None:
        if not taken_over.is_set():
            taken_over.set()
            # Like the sweep of another process, but in this transaction, because SQLite has one writer.
            BatchEntry.objects.filter(state="running").update(holder="another")

    wrap_handler(monkeypatch, "create_onto_task", after=lose_entry)

    id = send_background_batch(api, build_create_entry("Lost"))
    sweep_until_done(id)

    assert not Task.objects.filter(title="Lost").exists()
    assert BatchEntry.objects.get(batch=id).state == "running"  # the other runner's change was undone with it
    Batch.objects.all().delete()  # wait_for_running_entries would wait for it


def test_sweep_closes_entries_that_did_not_start_in_time(api: Api, queued_batches: list[str]) -> None:
    id = send_background_batch(api, build_create_entry("Late"))
    Batch.objects.filter(pk=id).update(runs_until=timezone.now() - timedelta(seconds=1))

    sweep_until_done(id)

    assert get_reasons(api.get(f"batches/{id}").json()) == ["cancelled"]
    assert not Task.objects.filter(title="Late").exists()
