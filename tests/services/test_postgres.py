"""PostgreSQL under a running server: its connections are few, and their loss is a moment's."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.db import connection

from tests.support.servers.processes import WORKERS, Server, eventually
from tests.support.servers.stores import Store
from workspace.demo import DEMO_PROJECT_ID
from workspace.models import Task

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.server,
    pytest.mark.skipif(
        settings.DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql",
        reason="by design: what only PostgreSQL does",
    ),
]

SERVERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def query(sql: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def connections() -> int:
    """Return how many connections the server has; this process's own pool is of one."""
    return len(query(f"SELECT pid {SERVERS} AND application_name = 'served'"))


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    return serve(PGAPPNAME="served", GATEWAY_DB_POOL_SIZE="3")


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
    assert 0 < max(counts) <= 3 * WORKERS


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

    eventually(lambda: [server.exec("onto.task.list").status_code for _ in range(10)] == [200] * 10, within=5)
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
            assert time.monotonic() - start < 2
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

    eventually(lambda: [server.exec("onto.task.list").status_code for _ in range(10)] == [200] * 10, within=10)
    with server.client() as http:
        assert http.get("/readyz").status_code == 200


def set_database_down(store: Store, is_away: bool) -> None:
    """Refuse all connections to a database and cut the open ones, as during a restart, or allow them again."""
    connection.close()
    connection.close_pool()
    with connection._nodb_cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{store.name}" ALLOW_CONNECTIONS {"false" if is_away else "true"}')
        if is_away:
            cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [store.name])
