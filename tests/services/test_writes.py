"""One effect a key, whatever runs at once and whichever process dies."""

import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import httpx2
import pytest

from analytics.events.models import OperationEvent
from gateway.models import IdempotencyRecord
from tests.support.concurrency import run_at_once
from tests.support.servers.batch_calls import find_waiting_process
from tests.support.servers.processes import Server, kill_process
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = [pytest.mark.both_databases, pytest.mark.server]

AT_ONCE = 20


def test_write_takes_effect_once_when_twenty_clients_send_one_key(shared_server: Server) -> None:
    args = {"project_id": DEMO_PROJECT_ID, "title": "Created once"}

    write = partial(shared_server.exec, "onto.task.create", args, idempotency_key="created-once")
    responses = run_at_once([write] * AT_ONCE)

    assert {response.status_code for response in responses} <= {200, 409}
    results = [response.json()["result"] for response in responses if response.status_code == 200]
    assert results
    assert all(result == results[0] for result in results)
    refused = [response.json()["error"] for response in responses if response.status_code == 409]
    assert {(error["code"], error["details"]["reason"]) for error in refused} <= {("CONFLICT", "in_progress")}
    fresh = [
        response for response in responses if response.status_code == 200 and "replayed" not in response.json()["meta"]
    ]
    assert len(fresh) == 1
    assert [str(task.pk) for task in Task.objects.filter(title="Created once")] == [results[0]["task"]["id"]]
    assert [record.state for record in IdempotencyRecord.objects.filter(key="created-once")] == ["done"]
    written = OperationEvent.objects.filter(entity_id=results[0]["task"]["id"], ok=True, replayed=False)
    assert written.count() == 1

    again = write().json()
    assert again["result"] == results[0]
    assert again["meta"]["replayed"] is True


def test_write_of_a_killed_worker_is_undone_and_can_be_sent_again(server: Server, folder: Path) -> None:
    args = {"folder": str(folder)}

    with ThreadPoolExecutor() as pool:
        lost = pool.submit(server.exec, "probe.add", args, idempotency_key="lost")
        kill_process(find_waiting_process(folder))
        with pytest.raises(httpx2.TransportError):
            lost.result()

    assert Task.objects.filter(title="Added").count() == 0
    assert IdempotencyRecord.objects.count() == 0
    assert OperationEvent.objects.filter(op="probe.add").count() == 0

    (folder / "go").touch()
    first, second = (server.exec("probe.add", args, idempotency_key="lost").json() for _ in range(2))

    assert first["ok"] is True
    assert "replayed" not in first["meta"]
    assert second["result"] == first["result"]
    assert second["meta"]["replayed"] is True
    assert Task.objects.filter(title="Added").count() == 1
    assert OperationEvent.objects.filter(op="probe.add", ok=True, replayed=False).count() == 1


def test_repeated_write_waits_for_the_first_and_replays_it(shared_server: Server, folder: Path) -> None:
    args = {"folder": str(folder)}
    before = Task.objects.filter(title="Added").count()

    with ThreadPoolExecutor() as pool:
        first = pool.submit(shared_server.exec, "probe.add", args, idempotency_key="twin")
        find_waiting_process(folder)
        second = pool.submit(shared_server.exec, "probe.add", args, idempotency_key="twin")
        assert shared_server.help().status_code == 200  # help asks nobody and waits for nobody
        (folder / "go").touch()

    assert first.result().json()["ok"] is True
    replay = second.result().json()
    assert replay["result"] == first.result().json()["result"]
    assert replay["meta"]["replayed"] is True
    assert Task.objects.filter(title="Added").count() == before + 1


def test_running_write_finishes_when_the_server_stops(server: Server, folder: Path) -> None:
    with ThreadPoolExecutor() as pool:
        future = pool.submit(server.exec, "probe.add", {"folder": str(folder)}, idempotency_key="late")
        find_waiting_process(folder)
        server.process.inner.send_signal(signal.SIGTERM)
        (folder / "go").touch()

        assert future.result().json()["ok"] is True
    server.process.stop()

    assert Task.objects.filter(title="Added").count() == 1
    assert IdempotencyRecord.objects.get().state == "done"
    assert OperationEvent.objects.filter(op="probe.add", ok=True).count() == 1
