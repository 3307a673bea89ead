"""Real server processes: started as `make run` starts them, driven from outside, stopped without a trace."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from django.conf import settings

from gateway.management.commands import start

T = TypeVar("T")

STARTS_WITHIN = 30.0  # seconds
STOPS_WITHIN = 40.0  # seconds; production gives a worker 25 to finish, and uses them all when one hangs
WORKERS = 2


def eventually(ask: Callable[[], T], *, within: float, what: str = "it") -> T:
    """Return the first true answer; fails when there is none within some seconds."""
    until = time.monotonic() + within
    while not (answer := ask()):
        assert time.monotonic() < until, f"{what} did not happen within {within} s"
        time.sleep(0.02)
    return answer


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Process:
    """A process in a group of its own, and what it and its children print."""

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
        """Send a signal and return the exit code. Fails where the process or a child of it goes on."""
        self.inner.send_signal(sign)
        return self.wait()

    def wait(self) -> int:
        """Return the exit code once the process ends, as `stop` does."""
        try:
            code = self.inner.wait(STOPS_WITHIN)
            # Children hold the other end of the pipe: it ends with the last of them, which no list of processes shows
            # as surely.
            self._reader.join(STOPS_WITHIN)
            assert not self._reader.is_alive(), f"A process outlived the server:\n{self.output}"
        finally:
            self.kill()
        return code

    def kill(self) -> None:
        """End the whole group, whatever is left of it."""
        with suppress(ProcessLookupError, PermissionError):  # all gone; macOS says so with the second
            os.killpg(self.inner.pid, signal.SIGKILL)
        self.inner.wait()
        self._reader.join()
        if self.inner.stdout:
            self.inner.stdout.close()

    def _read(self) -> None:
        assert self.inner.stdout
        self.lines.extend(iter(self.inner.stdout.readline, ""))


@dataclass
class Server:
    """A running gateway, a key of it, and calls of it."""

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
        """Return a client with the key, on one connection at a time, and so with one worker as long as it holds."""
        limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
        options = {"headers": self.headers, "timeout": 20, "limits": limits, "trust_env": False, **options}
        return httpx2.Client(base_url=self.url, **options)

    def help(self, path: str = "root") -> httpx2.Response:
        """Ask for help over a connection of its own."""
        with self.client() as http:
            return http.get("/api/v1/help", params={"path": path})

    def exec(self, op: str, args: dict[str, Any] | None = None, **body: Any) -> httpx2.Response:
        """Run an op over a connection of its own."""
        with self.client() as http:
            return http.post("/api/v1/exec", json={"op": op, "args": args or {}, **body})

    def batch(self, *ops: dict[str, Any], prefer: str = "", **body: Any) -> httpx2.Response:
        """Send a batch over a connection of its own."""
        headers = {**self.headers, "Prefer": prefer} if prefer else self.headers
        with self.client(headers=headers, timeout=40) as http:
            return http.post("/api/v1/batch", json={"ops": ops, **body})

    def batch_status(self, id: str) -> dict[str, Any]:
        """Ask how far a batch is."""
        with self.client() as http:
            answer: dict[str, Any] = http.get(f"/api/v1/batches/{id}").json()
        return answer

    @contextmanager
    def workers(self) -> Iterator[dict[int, httpx2.Client]]:
        """Yield one client for each worker, by process id."""
        with ExitStack() as stack:
            found: dict[int, httpx2.Client] = {}

            def look() -> bool:
                http = stack.enter_context(self.client())
                with suppress(httpx2.TransportError):  # of a worker that was killed this moment
                    found.setdefault(process_of(http), http)
                return len(found) == WORKERS

            eventually(look, within=STARTS_WITHIN, what="meeting every worker")
            yield found


def process_of(http: httpx2.Client) -> int:
    """Return the id of the process that a client's connection is with."""
    answer = http.post("/api/v1/exec", json={"op": "probe.process"})
    return int(answer.json()["result"]["pid"])


@contextmanager
def serving(*, environment: Mapping[str, str], key: str, port: int | None = None) -> Iterator[Server]:
    """Run the gateway of this checkout as `make run` does, until it is ready; stop it, and see that nothing is left."""
    port = port or free_port()
    command = [sys.executable, "-m", "config.serve", *start._build_server_arguments(port)]
    process = Process(command, environment=environment, folder=settings.BASE_DIR)
    server = Server(port, process, key)
    try:
        wait_until_ready(process, server.url)
        yield server
        if process.inner.poll() is None:
            assert process.stop() == 0
    finally:
        process.kill()
        print(process.output)  # pytest shows it with a failure


@contextmanager
def working(*, environment: Mapping[str, str]) -> Iterator[Process]:
    """Run a Celery worker of this checkout until it takes messages; stop it, and see that nothing is left."""
    process = start_worker(environment)
    try:
        eventually(lambda: " ready" in process.output, within=STARTS_WITHIN, what="the worker's start")
        yield process
        if process.inner.poll() is None:
            assert process.stop() == 0
    finally:
        process.kill()
        print(process.output)


def start_worker(environment: Mapping[str, str]) -> Process:
    """Start a Celery worker as production does."""
    command = [sys.executable, "-m", "celery", "-A", "config.celery", "worker"]
    return Process(command, environment=environment, folder=settings.BASE_DIR)


def wait_until_ready(process: Process, url: str) -> None:
    """Wait until /readyz says so."""

    def ready() -> bool:
        assert process.inner.poll() is None, f"The server ended:\n{process.output}"
        try:
            return httpx2.get(f"{url}/readyz", timeout=5, trust_env=False).status_code == 200
        except httpx2.TransportError:
            return False

    eventually(ready, within=STARTS_WITHIN, what="readiness")
