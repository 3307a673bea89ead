"""Servers for benchmarks, started as config/serve.py starts them and always stopped at the end."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from benchmarks.figures import NotMeasured
from benchmarks.load import Address, UnexpectedResponse, build_request, send_once
from config.serve import build_arguments

ROOT = Path(__file__).resolve().parent.parent

_PRODUCTION = ROOT / ".venv" / "production" / "bin" / "python"  # made by `make bench`; without development packages
PYTHON = str(_PRODUCTION) if _PRODUCTION.exists() else sys.executable

# Arguments of Python for each server. The first two have the same arguments for granian.
GATEWAY = ("-m", "config.serve", "--host", "127.0.0.1")
BARE = ("-m", "granian", *build_arguments("benchmarks.bare.rsgi:application", workers=2))
CHAT = ("-m", "config.chat.serve", "--host", "127.0.0.1")

START_SECONDS = 30
STOP_SECONDS = 10


class ServerNotStarted(Exception):
    """A server exited, or did not answer in time."""


@dataclass(frozen=True, slots=True)
class BenchmarkServer:
    """A running server: its address, and the pid of the parent process of its workers."""

    address: Address
    pid: int


@contextmanager
def run_server(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    *,
    probe: str,
    log: IO[str] | None = None,
    python: str = PYTHON,
    start_seconds: float = START_SECONDS,
) -> Iterator[BenchmarkServer]:
    """Run a server until the block ends. Waits until GET `probe` returns 200. Raises ServerNotStarted.

    The server's output goes to `log`, or to ours.
    """
    port = _find_free_port()
    # Its own session, so that Ctrl-C reaches only us and we can stop the server cleanly.
    process = subprocess.Popen(
        [python, *arguments, "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    try:
        address = ("127.0.0.1", port)
        _wait_until_ready(process, address, build_request("GET", probe, {}), start_seconds)
        yield BenchmarkServer(address, process.pid)
    finally:
        _stop_process(process)


@contextmanager
def run_worker(environment: Mapping[str, str]) -> Iterator[None]:
    """Run a Celery worker until the block ends. It may not accept messages at once."""
    command = [PYTHON, "-m", "celery", "-A", "config.celery", "worker"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,  # the banner
        stderr=subprocess.DEVNULL,  # the warning about running as root
        start_new_session=True,
    )
    try:
        yield
    finally:
        _stop_process(process)


@contextmanager
def run_redis() -> Iterator[str]:
    """Run Redis without persistence and yield its URL. Raises NotMeasured if it is not installed."""
    if shutil.which("redis-server") is None:
        raise NotMeasured("It needs redis-server.")
    port = _find_free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        _stop_process(process)


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(
    process: "subprocess.Popen[bytes]", address: Address, probe_request: bytes, seconds: float
) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise ServerNotStarted(f"The server exited with code {process.returncode}.")
        with suppress(OSError, UnexpectedResponse):
            send_once(address, probe_request)
            return
        time.sleep(0.05)
    raise ServerNotStarted(f"The server did not answer within {seconds:.0f} seconds.")


def _stop_process(process: "subprocess.Popen[bytes]") -> None:
    """Terminate the server, then kill what is left of its session."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
