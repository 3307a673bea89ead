"""Brokers and databases that go away in mid-batch: a clear answer in time, a consistent state, and nothing hangs."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.conf import settings

from gateway.models import BatchEntry
from tests.support.servers import brokers
from tests.support.servers import postgres as postgresql
from tests.support.servers.batch_calls import call, done, keep, standing_still
from tests.support.servers.brokers import Broker
from tests.support.servers.environment import environment_of
from tests.support.servers.postgres import Postgres
from tests.support.servers.processes import Process, Server, eventually, serving, working
from tests.support.servers.stores import Store
from workspace.models import Task

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.server,
    pytest.mark.skipif(
        settings.DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql",
        reason="by design: workers in processes of their own are for PostgreSQL",
    ),
]

PATIENCE = 2.0  # seconds that nothing may hang beyond the work itself
COUNT = 12

WAYS = {"emptied": ("empty", "answers"), "paused": ("pause", "resume"), "stopped": ("stop", "start")}  # there and back


def timed(call: Callable[[], httpx2.Response]) -> tuple[dict[str, Any], float]:
    started = time.monotonic()
    answer = call()
    assert answer.status_code in (200, 202), answer.text
    return answer.json(), time.monotonic() - started


def kept(begin: str) -> int:
    return Task.objects.filter(title__startswith=begin).count()


def test_batches_come_to_their_end_whatever_becomes_of_the_broker(
    serve: Callable[..., Server], work: Callable[..., Process], broker: Broker, tmp_path: Path
) -> None:
    server = serve(CELERY_BROKER_URL=broker.url)
    worker = work(CELERY_BROKER_URL=broker.url)
    assert server.batch(*[keep(f"Before {n}") for n in range(COUNT)], mode="parallel").json()["ok"]

    for way in WAYS:
        _goes_on(server, worker, broker, way, tmp_path / way)


def _goes_on(server: Server, worker: Process, broker: Broker, way: str, folder: Path) -> None:
    """Take the broker away while a batch runs, see that all goes on, and give it back."""
    folder.mkdir()
    with ThreadPoolExecutor() as pool:
        held = [call("probe.add", folder=str(folder)) for _ in range(2)]
        running = pool.submit(server.batch, *held, mode="parallel")
        standing_still(folder)
        getattr(broker, WAYS[way][0])()
        try:
            (folder / "go").touch()
            _told_in_time(running, held)
            if way != "emptied":
                _runs_without_a_broker(server, way)
            background = server.batch(*[keep(f"Later {way} {n}") for n in range(3)], prefer="respond-async").json()
            assert done(server, background["batch_id"], within=30)["ok"]  # the worker looks for itself
        finally:
            getattr(broker, WAYS[way][1])()

    eventually(lambda: _runs_in_the_worker(server, worker, way), within=30, what=f"the worker's return ({way})")
    assert kept(f"Later {way} ") == 3
    assert not BatchEntry.objects.exclude(state="done").exists()


def _told_in_time(running: "Future[httpx2.Response]", held: list[dict[str, Any]]) -> None:
    answer = running.result(timeout=10).json()
    assert answer["ok"], answer
    assert answer["summary"]["succeeded"] == len(held)


def _runs_without_a_broker(server: Server, way: str) -> None:
    _, helped = timed(server.help)
    _, executed = timed(lambda: server.exec("onto.task.list"))
    answer, took = timed(lambda: server.batch(*[keep(f"{way} {n}") for n in range(COUNT)], mode="parallel"))
    sequential, in_order = timed(lambda: server.batch(*[keep(f"{way} in order {n}") for n in range(3)]))
    taken, noted = timed(lambda: server.batch(keep(f"{way} noted"), mode="parallel", prefer="respond-async"))

    assert max(helped, executed, took, in_order, noted) < PATIENCE
    assert answer["ok"], answer
    assert sequential["ok"], sequential
    assert any("degraded_sequential" in warning for warning in answer["meta"]["warnings"])
    assert taken["status"] == "pending"
    assert kept(f"{way} ") == COUNT + 3


def _runs_in_the_worker(server: Server, worker: Process, way: str) -> bool:
    entry = call("probe.process")
    taken = server.batch(*[entry] * 4, mode="parallel", prefer="respond-async").json()
    results = done(server, taken["batch_id"], within=20)["results"]
    assert {result["result"]["pid"] for result in results} == {worker.inner.pid}
    answer = server.batch(*[entry] * 4, mode="parallel").json()
    assert answer["ok"], answer
    return not answer["meta"]["warnings"]


@pytest.fixture
def postgres(tmp_path: Path, set_up_store: Store) -> Iterator[Postgres]:
    with postgresql.running() as found:
        found.fill(environment_of(set_up_store, tmp_path) | {"DATABASE_URL": found.url})
        yield found


def test_batch_ends_and_keys_hold_when_the_database_crashes_in_the_middle(
    postgres: Postgres, set_up_store: Store, running_brokers: Any, tmp_path_factory: Any, tmp_path: Path
) -> None:
    broker = brokers.started("redis", running_brokers, tmp_path_factory)
    environment = environment_of(set_up_store, tmp_path, DATABASE_URL=postgres.url, CELERY_BROKER_URL=broker.url)
    folder = tmp_path / "probe"
    folder.mkdir()
    with (
        serving(environment=environment, key=postgres.key) as server,
        working(environment=environment),
        ThreadPoolExecutor() as pool,
    ):
        with server.workers():
            entries = [call("probe.add", folder=str(folder)), *(keep(f"During {n}") for n in range(4))]
            running = pool.submit(server.batch, *entries, mode="parallel")
            standing_still(folder)
            postgres.stop()
        (folder / "go").touch()
        _tells_that_the_database_is_away(server)
        postgres.start()

        answer = running.result(timeout=30)
        assert answer.status_code == 200, answer.text
        assert [each["ok"] for each in answer.json()["results"]] == [True] * len(entries), answer.text
        eventually(lambda: server.exec("onto.task.list").status_code == 200, within=10)

    assert postgres.value("SELECT count(*) FROM workspace_task WHERE title LIKE 'During%'") == 4
    assert postgres.value("SELECT count(*) FROM workspace_task WHERE title = 'Added'") == 1
    assert postgres.value("SELECT count(*) FROM gateway_batchentry WHERE state <> 'done'") == 0


def _tells_that_the_database_is_away(server: Server) -> None:
    started = time.monotonic()
    assert [server.help().status_code for _ in range(4)] == [200] * 4
    assert time.monotonic() - started < PATIENCE
    for ask in (lambda: server.exec("onto.task.list"), lambda: server.batch(keep("Never"), mode="parallel")):
        started = time.monotonic()
        refused = ask()
        assert refused.status_code == 503, refused.text
        assert refused.json()["error"]["details"]["retryable"] is True
        assert time.monotonic() - started < 2 * PATIENCE  # what is waited for a connection, and the machine's own pace
