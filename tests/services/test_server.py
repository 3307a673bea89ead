"""Several processes, one gateway: what one of them is told all follow, and they end together."""

import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from django.utils import timezone

from benchmarks import mixing
from gateway.access import api_keys, key_verification
from gateway.models import ApiKey
from registry.drafts import switch_service
from registry.models import Op
from registry.releases import publishing
from tests.support.cpu_budget import is_thorough
from tests.support.servers.environment import make_key
from tests.support.servers.processes import WORKERS, Server, eventually, get_process_id, kill_process
from workspace.demo import DEMO_TASK_ID

pytestmark = pytest.mark.server

FOLLOWS_WITHIN = 10.0  # seconds; two where the machine is not busy, and half a minute if changes were not noticed
OP = "onto.task.update"


def publish(summary: str) -> str:
    """Give OP another summary, publish, and return the version."""
    Op.objects.filter(op=OP).update(summary=summary)
    return publishing.publish_draft(note=summary, by="tests", at=timezone.now()).version


def read_help(http: httpx2.Client, key: str = "") -> httpx2.Response:
    """Return help on OP, with another key if one is given."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return http.get("/api/v1/help", params={"path": OP}, headers=headers)


def measure_seconds_until(condition: Callable[[], bool]) -> float:
    started = time.monotonic()
    eventually(condition, within=20, what="what was waited for")
    return time.monotonic() - started


def test_every_worker_serves_a_new_release_within_two_seconds(shared_server: Server) -> None:
    with shared_server.workers() as workers:
        before = {read_help(http).headers["ETag"] for http in workers.values()}
        assert len(before) == 1

        version = publish("Another summary")
        took = measure_seconds_until(
            lambda: all(read_help(http).headers["Gateway-Release"] == version for http in workers.values())
        )

        assert took < FOLLOWS_WITHIN
        assert {get_process_id(http) for http in workers.values()} == set(workers)

    for response in [shared_server.help(OP) for _ in range(40)]:
        assert response.headers["Gateway-Release"] == version
        assert response.headers["ETag"] not in before
        assert response.json()["summary"] == "Another summary"


def test_every_worker_obeys_a_switch_within_two_seconds_and_still_replays(shared_server: Server) -> None:
    update = {"op": OP, "args": {"task_id": DEMO_TASK_ID, "title": "Switched"}}
    assert shared_server.exec(**update, idempotency_key="switched").json()["ok"]

    def is_accepted(http: httpx2.Client) -> bool:
        response = http.post("/api/v1/exec", json=update)
        assert response.status_code == 200 or response.json()["error"]["details"]["reason"] == "switched_off"
        return response.status_code == 200

    with shared_server.workers() as workers:
        for kind, name in (("op", OP), ("group", "onto"), ("connection", "workspace")):
            for is_off in (True, False):
                switch_service.set_switch(
                    kind=kind, name=name, is_off=is_off, reason="Down.", by="tests", at=timezone.now()
                )
                took = measure_seconds_until(
                    lambda off=is_off: all(is_accepted(http) != off for http in workers.values())
                )

                assert took < FOLLOWS_WITHIN, (kind, is_off)
                for http in workers.values():
                    assert read_help(http).status_code == (404 if is_off else 200)
                    assert get_process_id(http) in workers  # what lies beside it runs on
                    again = http.post("/api/v1/exec", json={**update, "idempotency_key": "switched"}).json()
                    assert again["meta"]["replayed"]


def test_server_never_mixes_releases_while_they_change(server: Server) -> None:
    result = mixing.check_release_mixing(server.url, server.headers, seconds=60 if is_thorough() else 5)

    assert (result.mixed, result.failed) == ([], [])
    assert len(result.editions) > result.changes / 4
    assert result.answers > 20 * result.changes


def test_every_worker_refuses_a_revoked_key_within_two_seconds(shared_server: Server) -> None:
    key = make_key()
    with shared_server.workers() as workers:
        assert [read_help(http, key).status_code for http in workers.values()] == [200, 200]

        api_keys.revoke(ApiKey.objects.get(prefix=key[: key_verification.PREFIX_LENGTH]), by="tests", at=timezone.now())
        took = measure_seconds_until(lambda: all(read_help(http, key).status_code == 401 for http in workers.values()))

        assert took < FOLLOWS_WITHIN
        expected = ["unauthenticated", "unauthenticated"]
        assert [read_help(http, key).json()["error"]["details"]["reason"] for http in workers.values()] == expected
        assert [read_help(http).status_code for http in workers.values()] == [200, 200]  # the other key goes on


def test_connections_that_come_at_once_are_spread_over_all_workers(shared_server: Server) -> None:
    clients = [shared_server.client() for _ in range(32)]
    with ThreadPoolExecutor(len(clients)) as threads:
        processes = Counter(threads.map(get_process_id, clients))
    for http in clients:
        http.close()

    assert len(processes) == WORKERS
    assert min(processes.values()) > 2  # by chance it is less once in a million times


def test_server_goes_on_when_its_workers_die_and_stops_while_a_client_sends(server: Server) -> None:
    for _ in range(3):  # the same worker again, and its neighbour, within the seconds that a worker takes to start
        with server.workers() as workers:
            for process in workers:
                kill_process(process)

    with server.workers() as workers:
        assert len(workers) == 2
        for process in workers:
            os.kill(process, signal.SIGKILL)
    assert server.process.inner.poll() is None

    for _ in range(100):  # the port stays open while all workers are dead
        socket.create_connection(("127.0.0.1", server.port)).close()
    assert server.help().status_code == 200

    with socket.create_connection(("127.0.0.1", server.port)) as slow:  # whose request never ends
        slow.sendall(
            b"POST /api/v1/help HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n"
            + f"Authorization: Bearer {server.key}\r\n\r\n{{".encode()
        )
        assert server.help().status_code == 200  # meanwhile the other threads go on

        assert server.process.stop(signal.SIGINT) == 0
