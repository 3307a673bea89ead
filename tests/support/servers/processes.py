"""Real server processes, started as by `make run` and stopped completely."""

import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from django.conf import settings

T = TypeVar("T")

_ports = count(random.randrange(10_000))  # another start in each run, as several may run on a machine

PATIENCE = 60.0  # seconds for what takes a moment: a busy machine is not a failure
STARTS_WITHIN = 120.0  # seconds; each process needs two of CPU time, which a busy machine is slow to give
STOPS_WITHIN = 40.0  # seconds; production gives a worker 25 seconds to finish
WORKERS = 2
PORTS = range(20_000, 32_000)
PORT_SHARES = 16
PORTS_EACH = len(PORTS) // PORT_SHARES
# Options of clients: without them each client reads all CA certificates, which takes 25 ms.
PLAIN_HTTP: dict[str, Any] = {"trust_env": False, "verify": False}


def eventually(check: Callable[[], T], *, within: float = PATIENCE, what: str = "it") -> T:
    """Call `check` until it returns a true value, and return that. Fails after `within` seconds."""
    until = time.monotonic() + within
    while not (value := check()):
        assert time.monotonic() < until, f"{what} did not happen within {within} s"
        time.sleep(0.02)
    return value


def kill_process(pid: int) -> None:
    """Kill a process and wait for its end: until then the system may give it new connections, and resets them."""
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: _is_over(pid), what="the end of a killed process")


def _is_over(pid: int) -> bool:
    """Return whether a process is gone, or has ended in all its threads and its parent has not noticed yet."""
    command = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return not state or (state[0] == "Z" and "l" not in state)  # l: some of its threads hold its sockets open


def free_port() -> int:
    """Return a loopback port that nobody listens on. Nobody listens on the next one either: `make run` takes both.

    The system gives ports of this range to no outgoing connection, and each test worker has a share of its own: until
    the server listens, nobody else takes the port.
    """
    worker, first = os.environ.get("PYTEST_XDIST_WORKER", "gw0"), int(os.environ.get("GATEWAY_TEST_PORT_SHARE", "0"))
    share = (first + int(worker[2:])) % PORT_SHARES
    while True:
        port = PORTS.start + share * PORTS_EACH + 2 * next(_ports) % PORTS_EACH
        with suppress(OSError), socket.socket() as probe, socket.socket() as next_probe:
            probe.bind(("127.0.0.1", port))
            next_probe.bind(("127.0.0.1", port + 1))
            return port


class Process:
    """A process in its own process group, with its output and that of its children."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str], folder: Path) -> None:
        self.lines: list[str] = []
        self.inner = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def stop(self, sign: int = signal.SIGTERM) -> int:
        """Send a signal and return the exit code. Fails if the process or one of its children keeps running."""
        self.inner.send_signal(sign)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end of the process and its children, and return the exit code."""
        try:
            code = self.inner.wait(STOPS_WITHIN)
            # Children hold the other end of the pipe, so it closes when the last of them ends.
            self._reader.join(STOPS_WITHIN)
            assert not self._reader.is_alive(), f"A process outlived the server:\n{self.output}"
        finally:
            self.kill()
        return code

    def kill(self) -> None:
        """Kill the whole process group."""
        with suppress(ProcessLookupError, PermissionError):  # all have ended; macOS raises the second error
            os.killpg(self.inner.pid, signal.SIGKILL)
        self.inner.wait()
        self._reader.join()
        if self.inner.stdout:
            self.inner.stdout.close()

    @contextmanager
    def stopped_afterwards(self) -> Iterator[None]:
        """Stop the process in the end, and check that it stops without an error and leaves no process."""
        try:
            yield
            if self.inner.poll() is None:
                assert self.stop() == 0
        finally:
            self.kill()
            print(self.output)  # pytest shows it with a failure

    def _read(self) -> None:
        assert self.inner.stdout
        self.lines.extend(iter(self.inner.stdout.readline, ""))


@dataclass
class Server:
    """A running gateway, a key for it, and calls with that key."""

    port: int
    process: Process
    key: str
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.headers = {"Authorization": f"Bearer {self.key}", **self.headers}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, **options: Any) -> httpx2.Client:
        """Return an HTTP client with the key and a single connection, so that one worker answers all its calls."""
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
        options = {"headers": self.headers, "timeout": 20, "limits": limits, **PLAIN_HTTP, **options}
        return httpx2.Client(base_url=self.url, **options)

    def help(self, path: str = "root") -> httpx2.Response:
        """Request help over a new connection."""
        with self.client() as http:
            return http.get("/api/v1/help", params={"path": path})

    def exec(self, op: str, args: dict[str, Any] | None = None, **body: Any) -> httpx2.Response:
        """Run an op over a new connection."""
        with self.client() as http:
            return http.post("/api/v1/exec", json={"op": op, "args": args or {}, **body})

    def batch(self, *ops: dict[str, Any], prefer: str = "", **body: Any) -> httpx2.Response:
        """Send a batch over a new connection."""
        headers = {**self.headers, "Prefer": prefer} if prefer else self.headers
        with self.client(headers=headers, timeout=40) as http:
            return http.post("/api/v1/batch", json={"ops": ops, **body})

    def batch_status(self, id: str) -> dict[str, Any]:
        with self.client() as http:
            status: dict[str, Any] = http.get(f"/api/v1/batches/{id}").json()
        return status

    def is_alive(self) -> bool:
        """Whether /healthz answers."""
        with suppress(httpx2.TransportError), self.client() as http:
            return http.get("/healthz").status_code == 200
        return False

    def find_unready(self) -> dict[str, Any] | None:
        """Return the answer of /readyz if it is not ready."""
        with self.client() as http:
            response = http.get("/readyz")
        return response.json() if response.status_code == 503 else None

    @contextmanager
    def workers(self) -> Iterator[dict[int, httpx2.Client]]:
        """Yield one client for each worker, by process id."""
        with ExitStack() as stack:
            clients: dict[int, httpx2.Client] = {}

            def find_worker() -> bool:
                http = stack.enter_context(self.client())
                with suppress(httpx2.TransportError):  # the worker was just killed
                    clients.setdefault(get_process_id(http), http)
                return len(clients) == WORKERS

            eventually(find_worker, within=STARTS_WITHIN, what="finding every worker")
            yield clients

    def wait_for_workers(self, check: Callable[[httpx2.Client], bool], *, within: float = PATIENCE, what: str) -> None:
        """Wait until a check is true in every worker: each reads cohorts, switches and releases for itself."""
        with self.workers() as workers:
            eventually(lambda: all(check(http) for http in workers.values()), within=within, what=what)


def get_process_id(http: httpx2.Client) -> int:
    """Return the id of the process that answers a client."""
    response = http.post("/api/v1/exec", json={"op": "probe.process"})
    return int(response.json()["result"]["pid"])


def submit_sign_in(http: httpx2.Client, name: str, password: str) -> httpx2.Response:
    """Send the form with which people sign in to the console."""
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', http.get("/admin/login/").text)
    assert token
    form = {"username": name, "password": password, "csrfmiddlewaretoken": token[1], "next": "/admin/"}
    return http.post("/admin/login/", data=form)


@contextmanager
def run_server(*, environment: Mapping[str, str], key: str, port: int | None = None) -> Iterator[Server]:
    """Run the gateway of this checkout as `make run` does, and check afterwards that no process is left."""
    port = port or free_port()
    process = start_server(environment, port)
    server = Server(port, process, key)
    with process.stopped_afterwards():
        wait_until_ready(process, server.url)
        yield server


def start_server(environment: Mapping[str, str], port: int) -> Process:
    """Start the gateway as `make run` does."""
    command = [sys.executable, "-m", "config.serve", "--host", "127.0.0.1", "--port", str(port)]
    return Process(command, environment=environment, folder=settings.BASE_DIR)


@contextmanager
def run_worker(*, environment: Mapping[str, str]) -> Iterator[Process]:
    """Run a Celery worker of this checkout, and check afterwards that no process is left."""
    process = start_worker(environment)
    with process.stopped_afterwards():
        eventually(lambda: " ready" in process.output, within=STARTS_WITHIN, what="the worker's start")
        yield process


def start_worker(environment: Mapping[str, str]) -> Process:
    """Start a Celery worker as in production."""
    command = [sys.executable, "-m", "celery", "-A", "config.celery", "worker"]
    return Process(command, environment=environment, folder=settings.BASE_DIR)


def wait_until_ready(process: Process, url: str, path: str = "/readyz") -> None:
    """Wait until a path, by default /readyz, is answered with 200."""

    def is_ready() -> bool:
        assert process.inner.poll() is None, f"The server ended:\n{process.output}"
        return answers(f"{url}{path}")

    eventually(is_ready, within=STARTS_WITHIN, what="readiness")


def answers(url: str) -> bool:
    """Return whether a GET is answered with 200."""
    with suppress(httpx2.TransportError):
        return httpx2.get(url, timeout=5, **PLAIN_HTTP).status_code == 200
    return False
