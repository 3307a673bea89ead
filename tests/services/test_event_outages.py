"""Events of answered calls while the database takes none: each is stored once, and in order."""

import os
import re
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.db import connection

from analytics.events.models import OperationEvent
from tests.support.servers import postgres as postgresql
from tests.support.servers.environment import build_environment
from tests.support.servers.postgres import Postgres, needs_postgres, set_database_down
from tests.support.servers.processes import Server, eventually, kill_process, run_server
from tests.support.servers.stores import Store

pytestmark = pytest.mark.server

SECONDS = float(os.environ.get("CRASH_OUTAGE_SECONDS") or 1)  # of an outage; `make chaos` has a minute of them
RATE = int(os.environ.get("CRASH_CALLS") or 200)  # calls a second
CONNECTIONS = 4
SETTLES_WITHIN = 60.0
TRACE = re.compile(rb"\r\ngateway-trace: (\w+)\r\n", re.IGNORECASE)


@dataclass
class Caller:
    """One connection, whose calls one process answers, and the traces of its answers with their times."""

    server: Server
    pid: int = 0
    answered: dict[str, float] = field(default_factory=dict)
    refused: list[bytes] = field(default_factory=list)

    def run(self, begin: threading.Barrier, over: threading.Event) -> None:
        """Call help at a constant rate until it is over, or the process is killed."""
        request = "\r\n".join(
            ["GET /api/v1/help?path=onto.task HTTP/1.1", "Host: 127.0.0.1"]
            + [f"{name}: {value}" for name, value in self.server.headers.items()]
        )
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=20) as connected:
            self.pid = self._call(connected, request.replace("help?path=onto.task", "exec").replace("GET", "POST"))
            begin.wait(60)
            due = time.monotonic()
            try:
                while not over.is_set():
                    self._call(connected, request)
                    due += CONNECTIONS / RATE
                    time.sleep(max(0.0, due - time.monotonic()))
            except OSError:
                pass

    def _call(self, connected: socket.socket, request: str) -> int:
        body = b'{"op": "probe.process"}' if request.startswith("POST") else b""
        length = f"\r\nContent-Type: application/json\r\nContent-Length: {len(body)}" if body else ""
        connected.sendall(f"{request}{length}\r\n\r\n".encode() + body)
        answer = b""
        while not (head := re.search(rb"\r\ncontent-length: (\d+)\r\n(?s:.*?)\r\n\r\n", answer, re.IGNORECASE)) or len(
            answer
        ) < head.end() + int(head[1]):
            piece = connected.recv(65_536)
            if not piece:
                raise OSError
            answer += piece
        trace = TRACE.search(answer)
        if not answer.startswith(b"HTTP/1.1 200") or not trace:
            self.refused.append(answer)
        elif not body:
            self.answered[trace[1].decode()] = time.monotonic()
        pid = re.search(rb'"pid":\s*(\d+)', answer)
        return int(pid[1]) if pid else 0


@contextmanager
def calling(server: Server) -> Iterator[list[Caller]]:
    """Call at RATE inside the block."""
    callers = [Caller(server) for _ in range(CONNECTIONS)]
    begin, over = threading.Barrier(CONNECTIONS + 1), threading.Event()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        running = [pool.submit(caller.run, begin, over) for caller in callers]
        try:
            begin.wait(60)
            yield callers
        finally:
            over.set()
            begin.abort()
        for each in running:
            each.result()


def list_stored() -> list[str]:
    return list(OperationEvent.objects.order_by("id").values_list("trace_id", flat=True))


def check_stored(callers: list[Caller], stored: list[str], *, killed: int = 0, killed_at: float = 0) -> str:
    """Check that each answer has one event, in order; a killed process may have lost its last ones. Return figures."""
    counts, lost = Counter(stored), []
    position = {trace: number for number, trace in enumerate(stored)}
    for caller in callers:
        assert caller.refused == []
        missing = [trace for trace in caller.answered if trace not in counts]
        assert caller.pid == killed or not missing, f"{len(missing)} of {len(caller.answered)} are missing"
        kept = [trace for trace in caller.answered if trace in counts]
        assert kept == list(caller.answered)[: len(kept)]  # only the last ones are lost
        assert {counts[trace] for trace in kept} == {1}
        assert kept == sorted(kept, key=position.__getitem__)
        lost += [killed_at - caller.answered[trace] for trace in missing]
    total = sum(len(caller.answered) for caller in callers)
    oldest = f", the oldest {max(lost) * 1000:.0f} ms before the end" if lost else ""
    return f"{total} calls; killed process lost {len(lost)}{oldest}"


def is_settled(callers: list[Caller], folder: Path, list_stored: Callable[[], list[str]], killed: int) -> bool:
    """Return whether all events are stored and no file is left."""
    if any(folder.rglob("events-*")):
        return False
    stored = set(list_stored())
    return all(caller.pid == killed or stored >= caller.answered.keys() for caller in callers)


@contextmanager
def outage(store: Store) -> Iterator[None]:
    """Let the database take no events: SQLite is locked by a writer, PostgreSQL refuses connections."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(store.name, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            yield
    else:
        set_database_down(store, True)
        try:
            yield
        finally:
            set_database_down(store, False)


@pytest.mark.both_databases
def test_events_survive_an_outage_and_the_death_of_a_process(
    serve: Callable[..., Server], store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, folder = serve(), tmp_path / "spool"
    with server.workers() as workers:
        for http in workers.values():
            assert http.get("/api/v1/help").status_code == 200  # the key is known to every worker now
    with calling(server) as callers:
        with outage(store):
            time.sleep(SECONDS)
            killed, killed_at = callers[0].pid, time.monotonic()
            kill_process(killed)
            eventually(lambda: any(folder.rglob("events-*")), within=10)
            time.sleep(SECONDS)
            on_disk = sum(path.stat().st_size for path in folder.rglob("events-*"))
        eventually(lambda: not any(folder.rglob("events-*")), within=SETTLES_WITHIN, what="the end of the files")
    eventually(lambda: is_settled(callers, folder, list_stored, killed), within=SETTLES_WITHIN, what="all events")

    assert {caller.pid for caller in callers} >= {killed}
    figures = check_stored(callers, list_stored(), killed=killed, killed_at=killed_at)
    with capsys.disabled():
        print(f"\n{connection.vendor}, {2 * SECONDS:g} s, {on_disk:,} bytes on disk: {figures}")


WAYS: dict[str, list[Callable[[Postgres], None]]] = {
    "stopped": [Postgres.stop, Postgres.start],
    "failed over": [Postgres.stop, Postgres.promote],
}


@pytest.fixture
def pair(tmp_path: Path, set_up_store: Store) -> Iterator[Postgres]:
    """A server with a synchronous standby: a commit is answered when both have it."""
    with postgresql.run_postgres() as postgres:
        postgres.fill(build_environment(set_up_store, tmp_path) | {"DATABASE_URL": postgres.url})
        postgres.add_standby()
        yield postgres


@needs_postgres
@pytest.mark.both_databases
@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
def test_events_survive_a_server_that_is_gone_for_a_while_or_for_good(
    pair: Postgres, set_up_store: Store, tmp_path: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    environment = build_environment(set_up_store, tmp_path, DATABASE_URL=pair.url)
    folder = tmp_path / "spool"

    def list_stored_in_pair() -> list[str]:
        return pair.column("SELECT trace_id FROM analytics_operationevent ORDER BY id")

    with run_server(environment=environment, key=pair.key) as server:
        with server.workers() as workers:
            for http in workers.values():
                assert http.get("/api/v1/help").status_code == 200
        go, come_back = WAYS[way]
        with calling(server) as callers:
            time.sleep(SECONDS / 2)
            go(pair)
            time.sleep(SECONDS)
            killed, killed_at = callers[0].pid, time.monotonic()
            kill_process(killed)
            time.sleep(SECONDS)
            come_back(pair)
            eventually(lambda: not any(folder.rglob("events-*")), within=SETTLES_WITHIN, what="the end of the files")
        eventually(lambda: is_settled(callers, folder, list_stored_in_pair, killed), within=SETTLES_WITHIN)
        figures = check_stored(callers, list_stored_in_pair(), killed=killed, killed_at=killed_at)
    with capsys.disabled():
        print(f"\nPostgreSQL {way}, {2 * SECONDS:g} s: {figures}")
