"""PostgreSQL under a running server: its connections are few, and their loss is a moment's."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from django.db import connection

from tests.support.servers.environment import build_environment, make_key
from tests.support.servers.link import Link
from tests.support.servers.postgres import needs_postgres, set_database_down
from tests.support.servers.processes import (
    STARTS_WITHIN,
    WORKERS,
    Server,
    eventually,
    free_port,
    start_server,
    wait_until_ready,
)
from tests.support.servers.stores import Store
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = [pytest.mark.both_databases, pytest.mark.server, needs_postgres]

SERVERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def query(sql: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def connections() -> int:
    """Return how many connections the server has."""
    return len(query(f"SELECT pid {SERVERS} AND application_name = 'served'"))


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve(PGAPPNAME="served", GATEWAY_DB_POOL_SIZE="4")


def test_connections_stay_within_the_pool_under_load(server: Server) -> None:
    def work(number: int) -> list[int]:
        with server.client() as http:
            body = {"op": "onto.task.list", "args": {"project_id": DEMO_PROJECT_ID}}
            return [http.post("/api/v1/exec", json=body).status_code for _ in range(10)]

    with ThreadPoolExecutor(8) as pool:
        working = [pool.submit(work, number) for number in range(8)]
        counts = []
        while not all(future.done() for future in working):
            counts.append(connections())
        statuses = [status for future in working for status in future.result()]

    assert set(statuses) == {200}
    assert len(statuses) == 80
    assert 0 < max(counts) <= 4 * WORKERS


def test_server_recovers_when_its_connections_are_cut(server: Server) -> None:
    assert connections() > 0
    query(f"SELECT pg_terminate_backend(pid) {SERVERS}")

    helped = [server.help().status_code for _ in range(10)]
    reads = [server.exec("onto.task.list") for _ in range(10)]
    writes = [
        server.exec("onto.task.create", {"project_id": DEMO_PROJECT_ID, "title": "After"}, idempotency_key=f"k{number}")
        for number in range(5)
    ]

    assert helped == [200] * 10
    for response in reads + writes:
        assert response.status_code in (200, 503), response.text
        assert response.json()["ok"] is (response.status_code == 200)
    refused = [response.json()["error"] for response in reads + writes if response.status_code == 503]
    assert all(error["code"] == "INTERNAL" and error["details"]["retryable"] for error in refused)
    assert Task.objects.filter(title="After").count() == len([one for one in writes if one.status_code == 200])

    eventually(lambda: [server.exec("onto.task.list").status_code for _ in range(10)] == [200] * 10, within=20)
    assert server.process.inner.poll() is None


def test_help_is_served_from_memory_while_the_database_is_down(server: Server, store: Store) -> None:
    with server.workers() as workers:
        for http in workers.values():
            assert http.get("/api/v1/help").status_code == 200  # the key is known to every worker now
    set_database_down(store, True)
    try:
        start = time.monotonic()
        with server.client() as http:
            assert [http.get("/api/v1/help").status_code for _ in range(20)] == [200] * 20
            assert time.monotonic() - start < 10  # none waited for a connection
            refused = http.post("/api/v1/exec", json={"op": "onto.task.list"})
            ready = http.get("/readyz")
            alive = http.get("/healthz")
        assert refused.status_code == 503
        assert refused.json()["error"]["details"]["retryable"] is True
        assert refused.headers["Retry-After"]
        assert ready.status_code == 503
        assert ready.json()["checks"]["database"] == "does not answer"
        assert alive.status_code == 200
    finally:
        set_database_down(store, False)

    eventually(lambda: [server.exec("onto.task.list").status_code for _ in range(10)] == [200] * 10)
    with server.workers() as workers:
        eventually(lambda: are_ready(workers))


@pytest.fixture
def link() -> Iterator[Link]:
    link = Link()
    yield link
    link.close()


def test_silent_database_delays_calls_to_their_deadline_and_help_not_at_all(
    serve: Callable[..., Server], store: Store, link: Link
) -> None:
    server = serve(DATABASE_URL=link.build_url(store))
    with server.workers() as workers, ThreadPoolExecutor() as pool:
        for http in workers.values():
            assert http.get("/api/v1/help").status_code == 200  # the key is known to every worker now
        link.silence()
        started = time.monotonic()
        calls = [pool.submit(server.exec, "probe.count") for _ in range(12)]  # more than there are threads
        not_ready = eventually(lambda: server.find_unready())
        assert [server.help().status_code for _ in range(20)] == [200] * 20
        assert [http.get("/healthz").status_code for http in workers.values()] == [200] * 2

        for call in calls:
            assert call.result(timeout=60).status_code == 503, call.result().text
            assert call.result().json()["error"]["details"]["retryable"] is True
        assert time.monotonic() - started < 30  # each took 2 s for the op and 1 s more, a few at a time
        link.resume()
        eventually(lambda: [server.exec("probe.count").status_code for _ in range(10)] == [200] * 10, within=20)
        eventually(lambda: are_ready(workers))  # a worker asks its database again every half second
        eventually(lambda: server.process.output.count("database.recovered") >= len(workers))

    assert not_ready["checks"]["database"] == "does not answer"
    assert "database.unreachable" in server.process.output


def test_server_waits_for_a_database_that_is_away_and_says_so(store: Store, tmp_path: Path, link: Link) -> None:
    link.silence()
    environment = build_environment(store, tmp_path, DATABASE_URL=link.build_url(store))
    port = free_port()
    process = start_server(environment, port)
    try:
        server = Server(port, process, make_key())
        eventually(server.is_alive, within=STARTS_WITHIN)
        not_ready = server.find_unready()
        link.resume()
        wait_until_ready(process, server.url)
        eventually(lambda: [server.exec("probe.count").status_code for _ in range(10)] == [200] * 10)
        assert process.stop() == 0
    finally:
        process.kill()

    failed = {"database": "does not answer", "release": "none is live"}
    assert not_ready["checks"] == {**failed, "broker": "ok", "jobs": "ok", "events": "ok"}
    assert "database.unreachable reason=" in process.output


def are_ready(workers: dict[int, httpx2.Client]) -> bool:
    return all(http.get("/readyz").status_code == 200 for http in workers.values())
