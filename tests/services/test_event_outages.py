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
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import orjson
import pytest
from django.db import connection

from analytics.events.models import OperationEvent
from benchmarks.load import build_request, get_response_length
from tests.support.servers import applying_upstream
from tests.support.servers import postgres as postgresql
from tests.support.servers.applying_upstream import ApplyingUpstream
from tests.support.servers.environment import build_environment
from tests.support.servers.postgres import Postgres, needs_postgres, set_database_down
from tests.support.servers.processes import Server, eventually, kill_process, run_server
from tests.support.servers.stores import Store
from tests.support.upstreams.http_upstream import READ, build_read, publish_ops

pytestmark = pytest.mark.server

SECONDS = float(os.environ.get("CRASH_OUTAGE_SECONDS") or 1)  # of an outage; `make chaos` has a minute of them
RATE = int(os.environ.get("CRASH_CALLS") or 200)  # calls a second
CONNECTIONS = 4
LEAST_SECONDS = 1.0  # that each connection has answers: more than a killed process may lose, on a busy machine too
SETTLES_WITHIN = 60.0
TRACE = re.compile(rb"\r\ngateway-trace: *(\w+)\r\n", re.IGNORECASE)
PID = re.compile(rb'"pid": *(\d+)')


@dataclass
class Caller:
    """One connection, whose calls one process answers, and the traces of its answers with their times."""

    server: Server
    pid: int
    requests: list[bytes]
    answered: dict[str, float] = field(default_factory=dict)

    def run(self, begin: threading.Barrier, over: threading.Event) -> None:
        """Send the requests in turn at a constant rate until it is over, or the process is killed."""
        with self._connect() as connected:
            begin.wait(60)
            due = time.monotonic()
            with suppress(OSError):
                for request in cycle(self.requests):
                    trace = TRACE.search(self._send(connected, request))
                    assert trace
                    self.answered[trace[1].decode()] = time.monotonic()
                    due += CONNECTIONS / RATE
                    time.sleep(max(0.0, due - time.monotonic()))
                    if over.is_set():
                        return

    def _connect(self) -> socket.socket:
        while True:
            connected = socket.create_connection(("127.0.0.1", self.server.port), timeout=20)
            pid = PID.search(self._send(connected, build_exec(self.server, "probe.process")))
            if pid and int(pid[1]) == self.pid:
                return connected
            connected.close()

    def _send(self, connected: socket.socket, request: bytes) -> bytes:
        """Return the answer, whose status is 200."""
        connected.sendall(request)
        received = bytearray()
        while not (length := get_response_length(received)) or len(received) < length:
            piece = connected.recv(65_536)
            if not piece:
                raise ConnectionResetError
            received += piece
        return bytes(received)


def build_exec(server: Server, op: str, **args: str) -> bytes:
    return build_request("POST", "/api/v1/exec", server.headers, orjson.dumps({"op": op, "args": args}))


@contextmanager
def calling(server: Server, *requests: bytes) -> Iterator[list[Caller]]:
    """Call at RATE inside the block, all workers alike: cached help, and these requests in turn."""
    help = build_request("GET", "/api/v1/help?path=onto.task", server.headers)
    with server.workers() as workers:
        for http in workers.values():
            assert http.get("/api/v1/help").status_code == 200  # the key is known to every worker now
        pids = list(workers)
    callers = [Caller(server, pids[number % len(pids)], [help, *requests]) for number in range(CONNECTIONS)]
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


def wait_for_calls(callers: list[Caller], *, share: float = 1) -> None:
    """Wait until as many more calls are answered as come in SECONDS from this share of the callers, each for a while.

    A connection that waited for its turn sends what is late at once, so a number of its calls would say little.
    """

    def count() -> int:
        return sum(len(caller.answered) for caller in callers)

    enough = count() + SECONDS * RATE * share

    def has_begun_long_ago(caller: Caller) -> bool:
        return time.monotonic() - next(iter(caller.answered.values()), time.monotonic()) >= LEAST_SECONDS

    def is_enough() -> bool:
        return count() >= enough and all(map(has_begun_long_ago, callers))

    eventually(is_enough, within=60 + 10 * SECONDS, what="answers")


def list_stored() -> list[str]:
    return list(OperationEvent.objects.order_by("id").values_list("trace_id", flat=True))


def check_stored(callers: list[Caller], stored: list[str], *, killed: int = 0, killed_at: float = 0) -> str:
    """Check that each answer has one event, in order; a killed process may have lost its last ones. Return figures."""
    counts, lost = Counter(stored), []
    position = {trace: number for number, trace in enumerate(stored)}
    for caller in callers:
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
        with closing(sqlite3.connect(store.name, timeout=60, isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            yield
    else:
        set_database_down(store, True)
        try:
            yield
        finally:
            set_database_down(store, False)


@pytest.fixture
def upstream() -> Iterator[ApplyingUpstream]:
    with applying_upstream.run_upstream() as upstream:
        yield upstream


@pytest.mark.both_databases
def test_events_survive_an_outage_and_the_death_of_a_process(
    serve: Callable[..., Server],
    upstream: ApplyingUpstream,
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "spool"
    with ExitStack() as stack:
        publish_ops(build_read(), base_url=upstream.url)
        server = serve()
        callers = stack.enter_context(calling(server, build_exec(server, READ, order_id="7")))
        with outage(store):
            began = time.monotonic()
            wait_for_calls(callers)
            killed, killed_at = callers[0].pid, time.monotonic()
            kill_process(killed)
            wait_for_calls(callers, share=0.5)
            seconds = time.monotonic() - began
            on_disk = sum(path.stat().st_size for path in folder.rglob("events-*"))
        eventually(lambda: not any(folder.rglob("events-*")), within=SETTLES_WITHIN, what="the end of the files")
    eventually(lambda: is_settled(callers, folder, list_stored, killed), within=SETTLES_WITHIN, what="all events")

    assert on_disk
    figures = check_stored(callers, list_stored(), killed=killed, killed_at=killed_at)
    with capsys.disabled():
        print(f"\n{connection.vendor}, {seconds:.1f} s, {on_disk:,} bytes on disk: {figures}")


WAYS: dict[str, list[Callable[[Postgres], None]]] = {
    "stopped": [Postgres.stop, Postgres.start],
    "failed over": [Postgres.stop, Postgres.promote],
}


@pytest.fixture
def pair(tmp_path: Path, upstream: ApplyingUpstream, set_up_store: Store) -> Iterator[Postgres]:
    """A server with a synchronous standby: a commit is answered when both have it."""
    with postgresql.run_postgres() as postgres:
        postgres.fill(build_environment(set_up_store, tmp_path) | {"DATABASE_URL": postgres.url}, upstream.url)
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
        go, come_back = WAYS[way]
        with calling(server, build_exec(server, READ, order_id="7")) as callers:
            wait_for_calls(callers)
            go(pair)
            began = time.monotonic()
            wait_for_calls(callers)
            killed, killed_at = callers[0].pid, time.monotonic()
            kill_process(killed)
            wait_for_calls(callers, share=0.5)
            come_back(pair)
            seconds = time.monotonic() - began
            eventually(lambda: not any(folder.rglob("events-*")), within=SETTLES_WITHIN, what="the end of the files")
        eventually(lambda: is_settled(callers, folder, list_stored_in_pair, killed), within=SETTLES_WITHIN)
        figures = check_stored(callers, list_stored_in_pair(), killed=killed, killed_at=killed_at)
    with capsys.disabled():
        print(f"\nPostgreSQL {way}, {seconds:.1f} s: {figures}")
