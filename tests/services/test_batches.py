"""Batches over the brokers of production: a worker process, a web process, and what happens when one goes."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.models import BatchEntry
from tests.support.servers.batch_calls import build_entry, build_keep_entry, find_waiting_process, wait_until_done
from tests.support.servers.brokers import Broker
from tests.support.servers.postgres import needs_postgres
from tests.support.servers.processes import Process, Server, eventually, kill_process
from workspace.models import Task

pytestmark = [pytest.mark.both_databases, pytest.mark.server, needs_postgres]

AT_ONCE = 6
GRACE = 25  # seconds until what stops a process in production kills it


@pytest.fixture
def server(serve: Callable[..., Server], broker: Broker) -> Server:
    return serve(CELERY_BROKER_URL=broker.url)


@pytest.fixture
def worker(work: Callable[..., Process], broker: Broker) -> Process:
    return work(CELERY_BROKER_URL=broker.url)


@pytest.mark.parametrize("broker", [pytest.param("redis", marks=pytest.mark.thorough), "rabbitmq"], indirect=True)
def test_worker_runs_parallel_and_background_batches_and_stops_cleanly(
    server: Server, worker: Process, tmp_path: Path
) -> None:
    check_entries_run_in_parallel(server, worker, tmp_path / "meeting")
    check_background_batch_runs_once(server)
    check_entries_with_one_key_take_effect_once(server)
    check_worker_finishes_running_entries(server, worker, tmp_path / "probe")


def check_entries_run_in_parallel(server: Server, worker: Process, folder: Path) -> None:
    folder.mkdir()
    entries = [build_entry("probe.meet", folder=str(folder), name=str(n), count=AT_ONCE) for n in range(AT_ONCE)]

    batch = server.batch(*entries, mode="parallel").json()

    assert batch["ok"], batch
    pids = [result["result"]["pid"] for result in batch["results"]]
    assert pids.count(worker.inner.pid) >= AT_ONCE - 1  # the waiting thread may have taken one


def check_background_batch_runs_once(server: Server) -> None:
    entries = [build_keep_entry(f"Background {number}") for number in range(5)]

    first = server.batch(*entries, prefer="respond-async", idempotency_key="background")
    again = server.batch(*entries, prefer="respond-async", idempotency_key="background")
    status = wait_until_done(server, first.json()["batch_id"])

    assert (first.status_code, again.json()["batch_id"]) == (202, first.json()["batch_id"])
    assert status["ok"], status
    tasks = Task.objects.filter(title__startswith="Background")
    assert sorted(task.title for task in tasks) == [f"Background {number}" for number in range(5)]


def check_entries_with_one_key_take_effect_once(server: Server) -> None:
    batch = server.batch(*[build_keep_entry("Once")] * AT_ONCE, mode="parallel").json()

    ids = {result["result"]["id"] for result in batch["results"] if result["ok"]}
    assert Task.objects.filter(title="Once").count() == len(ids) == 1


def check_worker_finishes_running_entries(server: Server, worker: Process, folder: Path) -> None:
    folder.mkdir()

    batch = server.batch(build_entry("probe.add", folder=str(folder)), mode="parallel", prefer="respond-async").json()
    assert find_waiting_process(folder) == worker.inner.pid
    worker.inner.send_signal(signal.SIGTERM)
    eventually(lambda: "Warm shutdown" in worker.output, what="the worker's hearing of it")
    (folder / "go").touch()

    start = time.monotonic()
    assert worker.wait() == 0
    assert time.monotonic() - start < GRACE
    entry = BatchEntry.objects.get(batch_id=batch["batch_id"])
    assert (entry.state, entry.outcome, entry.attempts) == ("done", "succeeded", 1)
    assert Task.objects.filter(title="Added").count() == 1


@pytest.mark.parametrize("broker", ["redis", pytest.param("rabbitmq", marks=pytest.mark.thorough)], indirect=True)
def test_entry_of_a_killed_worker_runs_once_in_another(
    server: Server, worker: Process, work: Callable[..., Process], broker: Broker, folder: Path
) -> None:
    batch = server.batch(build_entry("probe.add", folder=str(folder)), mode="parallel", prefer="respond-async").json()
    kill_process(find_waiting_process(folder))
    worker.wait()
    (folder / "go").touch()
    work(CELERY_BROKER_URL=broker.url)

    assert wait_until_done(server, batch["batch_id"])["ok"]
    assert BatchEntry.objects.get(batch_id=batch["batch_id"]).attempts == 2
    assert Task.objects.filter(title="Added").count() == 1
