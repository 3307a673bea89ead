"""Batches through the API: order, dataflow, keys, the background, cancelling, and the workers of this process."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from analytics.models import OperationEvent
from core import poller
from gateway.batches import broker, responses, service, store, sweep
from gateway.clients import api_keys
from gateway.models import ApiKey, Batch, BatchEntry
from registry.models import Op
from registry.releases import publishing
from tests.support.api import Api, refused
from tests.support.batches import BAD, LIST, batch, create, held, reasons, slow, sweep_until_done, together
from tests.support.concurrency import at_once
from workspace.contract import OpOutcome, OpRequest
from workspace.demo import DEMO_TASK_ID
from workspace.handlers import HANDLERS
from workspace.models import Task

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("quiet")]


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_help_and_exec_are_answered_in_the_order_of_the_request(api: Api, workers: None, mode: str) -> None:
    answer = batch(
        api, {"type": "help", "path": "onto.task"}, LIST, {"type": "help", "path": "no.such"}, BAD, mode=mode
    )

    assert set(answer) == {"batch_id", "ok", "results", "summary", "meta"}
    assert (answer["ok"], answer["summary"]) == (False, {"succeeded": 2, "failed": 2, "skipped": 0})
    assert answer["results"][0] == {
        "index": 0,
        "type": "help",
        "path": "onto.task",
        "ok": True,
        "result": api.help("onto.task"),
    }
    assert answer["results"][1]["result"]["tasks"][0]["id"]
    assert answer["results"][2]["error"]["code"] == "NOT_FOUND"
    assert answer["results"][2]["error"]["help_path"] == "root"
    assert reasons(answer) == ["", "", "unknown_path", "invalid_args"]
    assert set(answer["results"][3]) == {"index", "type", "op", "ok", "error", "meta"}
    assert {each["meta"]["trace_id"] for each in (answer, answer["results"][1])} == {answer["meta"]["trace_id"]}


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_values_flow_from_entry_to_entry(api: Api, workers: None, mode: str) -> None:
    renamed = {
        "type": "exec",
        "op": "onto.task.update",
        "args": {"task_id": {"$result": "0#/result/task/id"}, "description": {"$result": "1#/result/path"}},
    }
    answer = batch(api, create("First"), {"type": "help", "path": "onto.task.get"}, renamed, mode=mode)

    assert answer["ok"], answer
    task = Task.objects.get(title="First")
    assert (str(task.pk), task.description) == (answer["results"][2]["result"]["task"]["id"], "onto.task.get")


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_what_an_entry_needs_and_does_not_get_fails_it_alone(api: Api, workers: None, mode: str) -> None:
    missing = {"type": "exec", "op": "onto.task.get", "args": {"task_id": {"$result": "0#/result/tasks/9/id"}}}
    after_bad = {**LIST, "depends_on": [1]}
    after_that = {"type": "help", "path": "onto", "depends_on": [3]}
    answer = batch(api, LIST, BAD, missing, after_bad, after_that, LIST, mode=mode)

    assert reasons(answer) == ["", "invalid_args", "result_missing", "dependency_failed", "dependency_failed", ""]
    assert [each["error"]["help_path"] for each in answer["results"][3:5]] == ["onto.task.list", "onto"]
    assert answer["summary"] == {"succeeded": 2, "failed": 2, "skipped": 2}
    error = answer["results"][2]["error"]
    assert (error["code"], error["details"]["field_errors"][0]["path"]) == ("VALIDATION_ERROR", "/args/task_id")
    assert answer["results"][3]["error"]["code"] == "CONFLICT"
    assert answer["results"][4]["path"] == "onto"


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_an_entry_that_does_not_run_names_its_op_as_any_answer_does(api: Api, workers: None, mode: str) -> None:
    by_tool_name = {"type": "exec", "op": "get_onto_task_details"}
    missing = {**by_tool_name, "args": {"task_id": {"$result": "0#/result/tasks/9/id"}}}

    answer = batch(api, LIST, missing, {**by_tool_name, "depends_on": [1]}, mode=mode)

    assert reasons(answer) == ["", "result_missing", "dependency_failed"]
    assert [each["op"] for each in answer["results"][1:]] == ["onto.task.get"] * 2
    assert answer["results"][1]["error"]["help_path"] == "onto.task.get"


def test_an_entry_whose_reference_finds_nothing_is_an_event(api: Api, told: Callable[[], list[OperationEvent]]) -> None:
    batch(api, LIST, {**LIST, "args": {"cursor": {"$result": "0#/result/nothing"}}})

    found = [(event.op, event.ok, event.reason) for event in told()]
    assert sorted(found) == [("onto.task.list", False, "result_missing"), ("onto.task.list", True, "")]


def test_references_carry_no_more_into_a_call_than_a_body_may_hold(api: Api) -> None:
    def nested(inner: Any, **more: Any) -> dict[str, Any]:
        for _ in range(20):
            inner = {"a": inner}
        return create("Deep", **more) | {"args": {**create("Deep")["args"], "props": inner}}

    answer = batch(api, nested(1), nested({"$result": "0#/result/task/props"}))

    assert reasons(answer) == ["", "too_deep"]
    assert answer["results"][1]["error"]["code"] == "VALIDATION_ERROR"
    assert Task.objects.filter(title="Deep").count() == 1


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_an_answer_that_cannot_be_told_spoils_no_other(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    broken = replace(HANDLERS["list_onto_tasks"], apply=lambda _: OpOutcome({"tasks": [object()]}))
    monkeypatch.setitem(HANDLERS, "list_onto_tasks", broken)

    answer = batch(api, LIST, {"type": "help", "path": "onto"}, mode=mode)

    assert reasons(answer) == ["internal", ""]
    assert answer["results"][0]["error"]["code"] == "INTERNAL"


def test_the_rest_is_skipped_after_an_error_where_asked(api: Api) -> None:
    answer = batch(api, create("Before"), BAD, create("After"), stop_on_error=True)

    assert reasons(answer) == ["", "invalid_args", "skipped"]
    assert answer["results"][2]["error"]["help_path"] == "onto.task.create"
    assert set(Task.objects.filter(title__in=["Before", "After"]).values_list("title", flat=True)) == {"Before"}
    assert reasons(batch(api, create("Before"), BAD, create("After"))) == ["", "invalid_args", ""]


def test_a_malformed_batch_runs_nothing(api: Api) -> None:
    error = refused(api.post("batch", {"ops": [create("Never"), {"type": "exec"}]}), 400, "malformed_call")

    assert error["details"]["field_errors"][0]["path"] == "/ops/1/op"
    assert "Entry 1" in error["message"]
    assert not Task.objects.filter(title="Never").exists()
    assert not Batch.objects.exists()


def test_parallel_entries_run_at_the_same_time(api: Api, workers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    together(monkeypatch, "list_onto_tasks", 8)

    answer = batch(api, *[LIST] * 8, mode="parallel")

    assert answer["ok"]
    assert answer["meta"]["warnings"] == []


def test_dependent_entries_wait_and_the_others_do_not(api: Api, workers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    together(monkeypatch, "list_onto_tasks", 2)

    # In pairs, or not at all: the first and the last, then the two that wait for the first.
    dependent = {**LIST, "depends_on": [0]}
    answer = batch(api, LIST, dependent, dependent, LIST, mode="parallel")

    assert answer["ok"]


def test_without_a_broker_the_waiting_thread_runs_them_all(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)

    answer = batch(api, *[LIST] * 5, BAD, mode="parallel")

    assert answer["summary"] == {"succeeded": 5, "failed": 1, "skipped": 0}
    assert answer["meta"]["warnings"][0].startswith("degraded_sequential")


def test_twelve_writes_of_one_row_at_once_all_take_effect(api: Api, workers: None) -> None:
    append = {"task_id": DEMO_TASK_ID, "update_strategy": "append"}
    ops = [
        {"type": "exec", "op": "onto.task.update", "args": {**append, "description": f"line {number}"}}
        for number in range(12)
    ]

    answer = batch(api, *ops, mode="parallel")

    assert answer["ok"], answer
    assert all(f"line {number}" in Task.objects.get(pk=DEMO_TASK_ID).description for number in range(12))


@pytest.mark.parametrize("header", [False, True])
def test_a_batch_under_its_key_is_one_batch(api: Api, header: bool) -> None:
    body = {"ops": [create("Once"), {**LIST}]}
    key = {"Idempotency_Key": "batch-1"} if header else {}
    sent = body if header else body | {"idempotency_key": "batch-1"}

    first, again = (api.post("batch", sent, **key) for _ in range(2))

    assert Task.objects.filter(title="Once").count() == 1
    assert again.json()["batch_id"] == first.json()["batch_id"]
    assert again.json()["results"] == first.json()["results"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert again.json()["meta"]["replayed"] is True
    other = api.post("batch", {"ops": [create("Other")], "idempotency_key": "batch-1"})
    refused(other, 422, "idempotency_key_reused")


def test_twins_of_a_batch_have_one_effect(api: Api, workers: None) -> None:
    body = {"ops": [create(f"Twin {number}") for number in range(4)], "mode": "parallel", "idempotency_key": "twins"}

    answers = at_once([lambda: api.post("batch", body)] * 6)

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["batch_id"] for answer in answers}) == 1
    assert all(answer.json()["ok"] for answer in answers)
    assert Task.objects.filter(title__startswith="Twin").count() == 4


def test_an_entry_keeps_a_key_of_its_own(api: Api) -> None:
    entry = create("Keyed", idempotency_key="mine")
    batch(api, entry)

    again = batch(api, entry)
    alone = api.post("exec", {name: value for name, value in entry.items() if name != "type"})

    assert again["results"][0]["meta"]["replayed"] is True
    assert alone.headers["Idempotent-Replayed"] == "true"
    assert Task.objects.filter(title="Keyed").count() == 1


def test_each_entry_is_one_event(api: Api, told: Callable[[], list[OperationEvent]]) -> None:
    answer = batch(api, {"type": "help", "path": "onto"}, create("Told"), BAD, {"type": "help", "path": "no.such"})

    found = [(event.type, event.op, event.source, event.ok) for event in told()]
    assert sorted(found) == [
        ("exec", "onto.task.create", "batch", True),
        ("exec", "onto.task.get", "batch", False),
        ("help", "no.such", "batch", False),
        ("help", "onto", "batch", True),
    ]
    assert {event.trace_id for event in told()} == {answer["meta"]["trace_id"]}


def test_a_batch_in_the_background_is_followed_by_its_address(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(monkeypatch, "list_onto_tasks"):
        taken = api.post("batch", {"ops": [LIST, {"type": "help", "path": "onto"}]}, Prefer="respond-async, wait=5")

    assert taken.status_code == 202
    assert taken.headers["Preference-Applied"] == "respond-async"
    place = taken.headers["Location"].removeprefix("/api/v1/")
    assert place == f"batches/{taken.json()['batch_id']}"
    assert taken.json()["results"][1] == {"index": 1, "type": "help", "path": "onto", "status": "pending"}
    until, answer = time.monotonic() + 10, taken.json()
    seen = [answer["status"]]
    while answer["status"] not in ("done", "cancelled") and time.monotonic() < until:
        answer = api.get(f"{place}?wait=5").json()
        seen.append(answer["status"])
    assert seen[-1] == "done"
    assert len(seen) < 8  # each answer was held until something had changed
    assert (answer["ok"], answer["summary"]) == (True, {"succeeded": 2, "failed": 0, "skipped": 0, "pending": 0})


def test_what_has_not_begun_is_cancelled(api: Api, workers: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with held(monkeypatch, "list_onto_tasks") as began:
        taken = api.post("batch", {"ops": [LIST, create("Never")]}, Prefer="respond-async").json()
        assert began.wait(10)

        cancelled = api.http.delete(f"/api/v1/batches/{taken['batch_id']}", headers=api.headers)

    assert cancelled.status_code == 200
    assert cancelled.json()["results"][0]["status"] == "running"
    assert cancelled.json()["results"][1]["error"]["details"]["reason"] == "cancelled"
    assert cancelled.json()["results"][1]["error"]["help_path"] == "onto.task.create"
    answer = cancelled.json()
    while answer["status"] == "running":
        answer = api.get(f"batches/{taken['batch_id']}?wait=5").json()
    assert (answer["status"], answer["results"][0]["ok"]) == ("cancelled", True)
    assert not Task.objects.filter(title="Never").exists()


def test_a_batch_is_its_senders_alone(api: Api, another: Callable[..., Api]) -> None:
    id = batch(api, LIST)["batch_id"]
    same_client = Api(api.headers["Authorization"].removeprefix("Bearer "), "other-user")

    for stranger in (another(), same_client):
        refused(stranger.get(f"batches/{id}"), 404, "unknown_batch")
        gone = stranger.http.delete(f"/api/v1/batches/{id}", headers=stranger.headers)
        refused(gone, 404, "unknown_batch")
    refused(api.get(f"batches/{uuid4()}"), 404, "unknown_batch")
    refused(api.get("batches/1"), 404, "unknown_address")
    for wait in ("x", "-1", "1.5", "21", "99999", "", "1&wait=2", "1&more=1"):
        error = refused(api.get(f"batches/{id}?wait={wait}"), 400, "malformed_call")
        assert "0 to 20" in error["message"]
    assert api.get(f"batches/{id}").json()["status"] == "done"


def test_scopes_of_the_key_hold_for_every_entry(another: Callable[..., Api], live_catalog: Any) -> None:
    reads_only = another(scopes=["batch", "exec:read"])

    answer = batch(reads_only, LIST, create("Never"), {"type": "help", "path": "onto"})

    assert reasons(answer) == ["", "scope_missing", "scope_missing"]
    refused(another(scopes=["exec:read"]).post("batch", {"ops": [LIST]}), 403, "scope_missing")


def test_results_are_told_to_no_key_that_could_not_have_had_them(api: Api) -> None:
    body = {"ops": [LIST, {"type": "help", "path": "onto"}], "idempotency_key": "shared"}
    id = api.post("batch", body).json()["batch_id"]
    client = ApiKey.objects.get().client

    for scopes in (["batch", "help"], ["batch", "exec:read"]):
        other = Api(api_keys.issue(client=client, by="tests", scopes=scopes)[1])
        refused(other.get(f"batches/{id}"), 403, "scope_missing")
        refused(other.post("batch", body), 403, "scope_missing")
    enough = Api(api_keys.issue(client=client, by="tests", scopes=["batch", "help", "exec:read"])[1])
    assert enough.get(f"batches/{id}").json()["ok"]
    assert enough.post("batch", body).json()["ok"]


def test_every_entry_counts_against_the_rate(another: Callable[..., Api], live_catalog: Any) -> None:
    api = another(rate=5)

    batch(api, *[{"type": "help", "path": "onto"}] * 20)

    assert refused(api.post("batch", {"ops": [LIST]}), 429, "rate_limited")


def test_a_batch_runs_under_the_release_that_it_began_with(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with held(monkeypatch, "list_onto_tasks"):
        taken = api.post("batch", {"ops": [LIST, {"type": "help", "path": "onto.task.list"}]}, Prefer="respond-async")
        Op.objects.filter(op="onto.task.list").update(summary="Another summary")
        publishing.publish_draft(note="changed", by="tests", at=timezone.now())
        poller.refresh()

    answer = api.get(f"batches/{taken.json()['batch_id']}").json()
    while answer["status"] != "done":
        answer = api.get(f"batches/{taken.json()['batch_id']}?wait=5").json()

    assert answer["results"][1]["result"]["summary"] != "Another summary"
    assert api.help("onto.task.list")["summary"] == "Another summary"
    assert taken.headers["Gateway-Release"] == api.get(f"batches/{taken.json()['batch_id']}").headers["Gateway-Release"]


def test_what_takes_longer_than_the_batch_may_is_followed(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.GATEWAY_BATCH_SECONDS = 1
    after = {"type": "help", "path": "onto", "depends_on": [0]}

    with held(monkeypatch, "list_onto_tasks"):  # is answered before what it asked for
        answer = batch(api, LIST, {"type": "help", "path": "onto"}, after, mode="parallel")

    assert reasons(answer) == ["timeout", "", "cancelled"]
    assert answer["results"][0]["error"]["code"] == "INTERNAL"
    assert answer["results"][0]["error"]["details"]["batch_id"] == answer["batch_id"]
    status = api.get(f"batches/{answer['batch_id']}?wait=5").json()
    assert (status["status"], status["results"][0]["ok"]) == ("done", True)


def test_a_batch_in_the_background_goes_on_after_somebody_waited_for_it(
    api: Api, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)
    settings.GATEWAY_BATCH_SECONDS = 1
    slow(monkeypatch, "list_onto_tasks", 1.2)
    body = {"ops": [LIST, LIST], "idempotency_key": "long"}
    id = api.post("batch", body, Prefer="respond-async").json()["batch_id"]

    waited = api.post("batch", body).json()

    assert waited["batch_id"] == id
    assert reasons(waited)[1] == "timeout"
    assert api.get(f"batches/{id}").json()["results"][1]["status"] == "pending"


def test_a_batch_whose_database_goes_for_a_moment_is_answered(
    api: Api, workers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, faults = store.load_entry_states, iter([OperationalError("gone"), InterfaceError("still gone")])

    def goes(batch: Batch) -> Any:
        for fault in faults:
            raise fault
        return whole(batch)

    monkeypatch.setattr(service.store, "load_entry_states", goes)

    assert batch(api, create("During"))["ok"]
    assert Task.objects.filter(title="During").count() == 1


def test_a_batch_whose_answer_cannot_be_read_is_not_said_to_be_undone(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any, **__: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(responses, "build_results", gone)

    error = refused(api.post("batch", {"ops": [create("Done")]}), 503, "unavailable")

    assert error["details"]["batch_id"] in error["message"]
    assert "othing was" not in error["message"]
    assert Task.objects.filter(title="Done").count() == 1


def test_a_revoked_key_runs_nothing_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)
    id = api.post("batch", {"ops": [create("Never")]}, Prefer="respond-async").json()["batch_id"]
    api_keys.revoke(ApiKey.objects.get(), at=timezone.now())

    sweep_until_done(id)

    entry = BatchEntry.objects.get(batch=id)
    assert (entry.outcome, "key_revoked" in entry.answer) == ("failed", True)
    assert not Task.objects.filter(title="Never").exists()


def test_an_entry_whose_runner_died_is_run_again_and_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)
    id = api.post("batch", {"ops": [create("Again")]}, Prefer="respond-async").json()["batch_id"]
    BatchEntry.objects.filter(batch=id).update(
        state="running", runner="dead", held_until=timezone.now() - timedelta(seconds=1), attempts=1
    )

    sweep_until_done(id)

    entry = BatchEntry.objects.get(batch=id)
    assert (entry.outcome, entry.attempts) == ("succeeded", 2)
    assert Task.objects.filter(title="Again").count() == 1


def test_an_entry_that_takes_its_runners_down_is_given_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)
    id = api.post("batch", {"ops": [create("Deadly"), LIST]}, Prefer="respond-async").json()["batch_id"]
    BatchEntry.objects.filter(batch=id, index=0).update(
        state="running", runner="dead", held_until=timezone.now() - timedelta(seconds=1), attempts=3
    )

    sweep.sweep_batches()

    answer = api.get(f"batches/{id}").json()
    assert answer["results"][0]["error"]["details"]["reason"] == "runner_lost"
    assert answer["results"][1]["status"] == "pending"


def test_a_runner_that_was_given_up_undoes_what_it_did(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)
    whole = HANDLERS["create_onto_task"]
    taken_over = threading.Event()

    def loses(request: OpRequest) -> OpOutcome:
        outcome = whole.apply(request)
        if not taken_over.is_set():
            taken_over.set()
            # As the sweep of another process would; in this transaction, for SQLite has one writer.
            BatchEntry.objects.filter(state="running").update(runner="another")
        return outcome

    monkeypatch.setitem(HANDLERS, "create_onto_task", replace(whole, apply=loses))

    id = api.post("batch", {"ops": [create("Lost")]}, Prefer="respond-async").json()["batch_id"]
    sweep_until_done(id)

    assert not Task.objects.filter(title="Lost").exists()
    assert BatchEntry.objects.get(batch=id).state == "running"  # the other runner's change was undone with it
    Batch.objects.all().delete()  # it counts as running, and the end of each test waits for what runs


def test_late_entries_are_closed(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker._sender, "enqueue", lambda *_: None)
    id = api.post("batch", {"ops": [create("Late")]}, Prefer="respond-async").json()["batch_id"]
    Batch.objects.filter(pk=id).update(runs_until=timezone.now() - timedelta(seconds=1))

    sweep_until_done(id)

    assert reasons(api.get(f"batches/{id}").json()) == ["cancelled"]
    assert not Task.objects.filter(title="Late").exists()
