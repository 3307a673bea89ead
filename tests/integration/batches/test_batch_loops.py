"""Loops in batches through the API: each row is a call with its own check, key, event and agreement."""

from collections.abc import Callable
from typing import Any

import pytest

from analytics.events.models import OperationEvent
from core.text import token_budget
from gateway.batches import runner
from gateway.models import Batch
from tests.support.clients.api import Api, assert_refused
from tests.support.clients.batches import (
    LIST,
    build_create_entry,
    get_reasons,
    hold_op,
    send_background_batch,
    send_batch,
    wait_until_done,
)
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("wait_for_running_entries"),
]

FIND = {"type": "exec", "op": "onto.task.search", "args": {"query": "Loop"}}
RENAME = {
    "type": "exec",
    "op": "onto.task.update",
    "for_each": {"$result": "0#/result/tasks"},
    "args": {"task_id": {"$item": "/id"}, "description": {"$item": "/title"}},
}


@pytest.fixture
def tasks(api: Api) -> list[Task]:
    """Three tasks in one project, whose titles begin with Loop."""
    send_batch(api, *(build_create_entry(f"Loop {number}") for number in (1, 2, 3)))
    return list(Task.objects.filter(title__startswith="Loop").order_by("title"))


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_loop_runs_for_each_row_that_where_chooses(
    api: Api, embedded_worker: None, tasks: list[Task], mode: str, read_events: Callable[[], list[OperationEvent]]
) -> None:
    where = {"pointer": "/title", "op": "ne", "value": "Loop 2"}
    batch = send_batch(api, FIND, {**RENAME, "where": where}, mode=mode)

    loop = batch["results"][1]
    assert (batch["ok"], loop["ok"], loop["op"], "result" in loop) == (True, True, "onto.task.update", False)
    assert loop["meta"]["rows"] == {"all": 3, "chosen": 2, "ran": 2}
    assert {item["result"]["task"]["id"] for item in loop["items"]} == {str(tasks[0].pk), str(tasks[2].pk)}
    assert sorted(Task.objects.filter(title__startswith="Loop").values_list("description", flat=True)) == [
        "",
        "Loop 1",
        "Loop 3",
    ]
    updates = [event for event in read_events() if event.op == "onto.task.update"]
    assert [event.ok for event in updates] == [True, True]


def test_rows_run_once_however_often_the_batch_is_sent(api: Api, tasks: list[Task]) -> None:
    body = {"ops": [FIND, RENAME], "idempotency_key": "loop"}
    first, again = (api.post("batch", body).json() for _ in range(2))
    revisions = list(Task.objects.filter(title__startswith="Loop").values_list("updated_at", flat=True))

    Batch.objects.get(key="loop").entries.update(state="pending", outcome="", answer="", attempts=0)
    runner.run_turn(Batch.objects.get(key="loop").pk)  # as after its runner was lost before it stored the answer

    assert first["ok"], first
    assert again["results"] == first["results"]
    assert list(Task.objects.filter(title__startswith="Loop").values_list("updated_at", flat=True)) == revisions


def test_a_failed_row_does_not_stop_the_others_unless_asked(api: Api, tasks: list[Task]) -> None:
    bad = {**RENAME, "args": {"task_id": {"$item": "/id"}, "state_key": {"$item": "/nothing"}}}
    after = {**LIST, "depends_on": [1]}

    batch = send_batch(api, FIND, bad, {**bad, "stop_on_error": True}, after)

    failed, stopped = batch["results"][1:3]
    assert get_reasons(batch) == ["", "rows_failed", "rows_failed", "dependency_failed"]
    assert [item["error"]["details"]["reason"] for item in failed["items"]] == ["result_missing"] * 3
    assert "it has id" in failed["items"][0]["error"]["message"]
    assert failed["error"]["message"] == "3 of 3 rows failed; their items tell why."
    assert (len(stopped["items"]), stopped["meta"]["rows"]["ran"]) == (1, 1)
    assert "stop_on_error" in stopped["meta"]["warnings"][0]


def test_stop_if_ends_rows_and_entries(api: Api, tasks: list[Task]) -> None:
    stop_if = {"pointer": "/result/task/title", "op": "eq", "value": "Loop 2"}
    get = {**RENAME, "op": "onto.task.get", "args": {"task_id": {"$item": "/id"}}, "stop_if": stop_if}

    loop = send_batch(api, FIND, get, LIST)
    plain = send_batch(api, {**LIST, "stop_if": {"pointer": "/result/tasks", "op": "ne", "value": []}}, LIST)

    ran = [item["result"]["task"]["title"] for item in loop["results"][1]["items"]]
    assert ran[-1] == "Loop 2"
    assert get_reasons(loop) == ["", "", "stopped"]
    assert loop["summary"] == {"succeeded": 2, "failed": 0, "skipped": 1}
    assert get_reasons(plain) == ["", "stopped"]


def test_later_entries_read_the_rows_of_a_loop(api: Api, tasks: list[Task]) -> None:
    again = {
        **RENAME,
        "for_each": {"$result": "1#/items"},
        "args": {"task_id": {"$item": "/result/task/id"}, "priority": 2},
    }

    batch = send_batch(api, FIND, RENAME, again)

    assert batch["ok"], batch
    assert set(Task.objects.filter(title__startswith="Loop").values_list("priority", flat=True)) == {2}


def test_each_row_asks_the_end_user_on_its_own(confirming_api: Api, tasks: list[Task]) -> None:
    delete = {**RENAME, "op": "onto.task.delete", "args": {"task_id": {"$item": "/id"}}}
    body = {"ops": [FIND, delete], "idempotency_key": "ask"}

    answer = confirming_api.post("batch", body).json()
    items = answer["results"][1]["items"]
    assert [item["error"]["details"]["reason"] for item in items] == ["confirmation_required"] * 3
    assert "3 of 3 rows need the end user's agreement" in answer["results"][1]["error"]["message"]
    for _ in tasks:
        waiting = next(item for item in answer["results"][1]["items"] if not item["ok"])
        token = waiting["error"]["details"]["confirmation"]["token"]
        answer = confirming_api.post("batch", body, Gateway_Confirm=token).json()

    assert answer["ok"], answer
    assert not Task.objects.filter(title__startswith="Loop", deleted_at=None).exists()


def test_loop_stops_when_its_batch_is_cancelled(
    api: Api, embedded_worker: None, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    get = {**RENAME, "op": "onto.task.get", "args": {"task_id": {"$item": "/id"}}}
    with hold_op(monkeypatch, "get_onto_task_details") as started:
        id = send_background_batch(api, FIND, get)
        assert started.wait(10)
        assert api.http.delete(f"/api/v1/batches/{id}", headers=api.headers).status_code == 200

    wait_until_done(api, id, status="cancelled")
    batch = api.get(f"batches/{id}").json()
    assert batch["results"][1]["meta"]["rows"] == {"all": 3, "chosen": 3, "ran": 1}
    assert "cancelled" in batch["results"][1]["meta"]["warnings"][0]


def test_a_loop_that_is_malformed_is_refused_before_anything_runs(api: Api) -> None:
    for more in (
        {"for_each": {"$result": "0#/result/tasks"}, "where": {"pointer": "title", "op": "is", "value": 1}},
        {"where": 5},
    ):
        response = api.post("batch", {"ops": [LIST, {**LIST, **more}]})
        assert_refused(response, 400, "malformed_call")


def test_help_on_batch_tells_the_syntax_that_the_api_accepts(api: Api, tasks: list[Task]) -> None:
    guide = api.help("batch")

    ops: list[Any] = guide["examples"][0]["ops"]
    ops[0]["args"]["project_id"] = DEMO_PROJECT_ID
    batch = send_batch(api, *ops)
    assert batch["ok"], batch
    assert batch["results"][1]["meta"]["rows"]["ran"] > 3
    assert token_budget.count_json(guide) < 500
