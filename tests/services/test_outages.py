"""Brokers and databases that go away in mid-batch: a clear answer in time, a consistent state, and nothing hangs."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.models import BatchEntry
from tests.support.servers import brokers
from tests.support.servers import postgres as postgresql
from tests.support.servers.batch_calls import build_entry, build_keep_entry, find_waiting_process, wait_until_done
from tests.support.servers.brokers import Broker
from tests.support.servers.environment import build_environment
from tests.support.servers.postgres import Postgres, needs_postgres
from tests.support.servers.processes import Process, Server, eventually, run_server, run_worker
from tests.support.servers.stores import Store
from workspace.models import Task

pytestmark = [pytest.mark.both_databases, pytest.mark.server, needs_postgres]

PATIENCE = 10.0  # seconds of a call, its work included; two where the machine is not busy
COUNT = 12

WAYS = {"emptied": ("empty", "answers"), "paused": ("pause", "resume"), "stopped": ("stop", "start")}  # there and back


def measure_call(call: Callable[[], httpx2.Response]) -> tuple[dict[str, Any], float]:
    started = time.monotonic()
    response = call()
    assert response.status_code in (200, 202), response.text
    return response.json(), time.monotonic() - started


def count_rows(begin: str) -> int:
    return Task.objects.filter(title__startswith=begin).count()


@pytest.mark.parametrize("broker", ["redis", pytest.param("rabbitmq", marks=pytest.mark.thorough)], indirect=True)
def test_batches_finish_when_the_broker_fails(
    serve: Callable[..., Server], work: Callable[..., Process], broker: Broker, tmp_path: Path
) -> None:
    server = serve(CELERY_BROKER_URL=broker.url)
    worker = work(CELERY_BROKER_URL=broker.url)
    assert server.batch(*[build_keep_entry(f"Before {n}") for n in range(COUNT)], mode="parallel").json()["ok"]

    broker.pause()
    eventually(lambda: read_broker_state(server) != "ok", within=20, what="noticing without a batch")
    broker.resume()
    eventually(lambda: read_broker_state(server) == "ok", within=20)
    for way in WAYS:
        check_batch_survives_outage(server, worker, broker, way, tmp_path / way)


def read_broker_state(server: Server) -> str:
    with server.client() as http:
        state: str = http.get("/readyz").json()["checks"]["broker"]
    return state


def check_batch_survives_outage(server: Server, worker: Process, broker: Broker, way: str, folder: Path) -> None:
    """Stop the broker while a batch runs, check that the batch finishes, and start the broker again."""
    folder.mkdir()
    with ThreadPoolExecutor() as pool:
        held = [build_entry("probe.add", folder=str(folder)) for _ in range(2)]
        running = pool.submit(server.batch, *held, mode="parallel")
        find_waiting_process(folder)
        getattr(broker, WAYS[way][0])()
        try:
            (folder / "go").touch()
            check_answered_in_time(running, held)
            if way != "emptied":
                check_runs_without_broker(server, way)
            background = server.batch(
                *[build_keep_entry(f"Later {way} {n}") for n in range(3)], prefer="respond-async"
            ).json()
            assert wait_until_done(server, background["batch_id"], within=30)["ok"]  # the worker looks for itself
        finally:
            getattr(broker, WAYS[way][1])()

    eventually(lambda: runs_in_worker(server, worker, way), within=30, what=f"the worker's return ({way})")
    assert count_rows(f"Later {way} ") == 3
    assert not BatchEntry.objects.exclude(state="done").exists()


def check_answered_in_time(running: "Future[httpx2.Response]", held: list[dict[str, Any]]) -> None:
    batch = running.result(timeout=30).json()
    assert batch["ok"], batch
    assert batch["summary"]["succeeded"] == len(held)


def check_runs_without_broker(server: Server, way: str) -> None:
    _, helped = measure_call(server.help)
    _, executed = measure_call(lambda: server.exec("onto.task.list"))
    parallel, took = measure_call(
        lambda: server.batch(*[build_keep_entry(f"{way} {n}") for n in range(COUNT)], mode="parallel")
    )
    sequential, in_order = measure_call(
        lambda: server.batch(*[build_keep_entry(f"{way} in order {n}") for n in range(3)])
    )
    background, noted = measure_call(
        lambda: server.batch(build_keep_entry(f"{way} noted"), mode="parallel", prefer="respond-async")
    )

    assert max(helped, executed, took, in_order, noted) < PATIENCE
    assert parallel["ok"], parallel
    assert sequential["ok"], sequential
    assert any("degraded_sequential" in warning for warning in parallel["meta"]["warnings"])
    assert background["status"] == "pending"
    assert count_rows(f"{way} ") == COUNT + 3


def runs_in_worker(server: Server, worker: Process, way: str) -> bool:
    entry = build_entry("probe.process")
    background = server.batch(*[entry] * 4, mode="parallel", prefer="respond-async").json()
    results = wait_until_done(server, background["batch_id"], within=20)["results"]
    assert {result["result"]["pid"] for result in results} == {worker.inner.pid}
    batch = server.batch(*[entry] * 4, mode="parallel").json()
    assert batch["ok"], batch
    return not batch["meta"]["warnings"]


@pytest.fixture
def postgres(tmp_path: Path, set_up_store: Store) -> Iterator[Postgres]:
    with postgresql.run_postgres() as postgres:
        postgres.fill(build_environment(set_up_store, tmp_path) | {"DATABASE_URL": postgres.url})
        yield postgres


@pytest.mark.thorough
def test_batch_finishes_and_keys_hold_when_the_database_crashes(
    postgres: Postgres, set_up_store: Store, running_brokers: Any, tmp_path_factory: Any, tmp_path: Path, folder: Path
) -> None:
    broker = brokers.start_broker_once("redis", running_brokers, tmp_path_factory)
    environment = build_environment(set_up_store, tmp_path, DATABASE_URL=postgres.url, CELERY_BROKER_URL=broker.url)
    with (
        run_server(environment=environment, key=postgres.key) as server,
        run_worker(environment=environment),
        ThreadPoolExecutor() as pool,
    ):
        with server.workers():
            entries = [
                build_entry("probe.add", folder=str(folder)),
                *(build_keep_entry(f"During {n}") for n in range(4)),
            ]
            running = pool.submit(server.batch, *entries, mode="parallel")
            find_waiting_process(folder)
            postgres.stop()
        (folder / "go").touch()
        check_reports_database_outage(server)
        postgres.start()

        response = running.result(timeout=30)
        assert response.status_code == 200, response.text
        assert [each["ok"] for each in response.json()["results"]] == [True] * len(entries), response.text
        eventually(lambda: server.exec("onto.task.list").status_code == 200)

    assert postgres.value("SELECT count(*) FROM workspace_task WHERE title LIKE 'During%'") == 4
    assert postgres.value("SELECT count(*) FROM workspace_task WHERE title = 'Added'") == 1
    assert postgres.value("SELECT count(*) FROM gateway_batchentry WHERE state <> 'done'") == 0


def check_reports_database_outage(server: Server) -> None:
    started = time.monotonic()
    assert [server.help().status_code for _ in range(4)] == [200] * 4
    assert time.monotonic() - started < PATIENCE
    for ask in (
        lambda: server.exec("onto.task.list"),
        lambda: server.batch(build_keep_entry("Never"), mode="parallel"),
    ):
        started = time.monotonic()
        refused = ask()
        assert refused.status_code == 503, refused.text
        assert refused.json()["error"]["details"]["retryable"] is True
        assert time.monotonic() - started < PATIENCE
