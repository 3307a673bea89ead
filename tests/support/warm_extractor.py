"""The extractor of web pages as forks of one process that has imported its library, which takes a second.

Each page is read by `core.web_text.extractor.main` in a process of its own, with all its limits. Tests of how that
process is started do not use this fixture.

As a program, this module is the process that forks: python -m tests.support.warm_extractor.
"""

import io
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from core.web_text import extractor, subprocess_reader


class WarmExtractor:
    """Runs the extractor in place of the module subprocess."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.support.warm_extractor"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=subprocess_reader.ROOT, **pipes)
        self._lock = threading.Lock()

    def run(
        self, command: list[str], *, input: bytes, timeout: float, **_: Any
    ) -> "subprocess.CompletedProcess[bytes]":
        """Read a page as the command would."""
        assert command[-1] == extractor.__name__
        with self._lock:
            self.process.stdin.write(json.dumps([len(input), timeout]).encode() + b"\n" + input)
            self.process.stdin.flush()
            length, code = json.loads(self.process.stdout.readline())
            output = self.process.stdout.read(length)
        if code is None:
            raise subprocess.TimeoutExpired(command, timeout)
        if code != 0:
            raise subprocess.CalledProcessError(code, command)
        return subprocess.CompletedProcess(command, code, output)

    def stop(self) -> None:
        self.process.communicate()


@pytest.fixture(scope="session")
def started_extractor() -> Iterator[WarmExtractor]:
    """The process that forks, for all tests of a worker."""
    started = WarmExtractor()
    yield started
    started.stop()


@pytest.fixture
def warm_extractor(started_extractor: WarmExtractor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read web pages in processes that start at once."""
    errors = {each.__name__: each for each in (subprocess.CalledProcessError, subprocess.TimeoutExpired)}
    monkeypatch.setattr(subprocess_reader, "subprocess", SimpleNamespace(run=started_extractor.run, **errors))


def _serve() -> None:
    """Read one request after the other from stdin, and answer each from a fork."""
    import trafilatura  # noqa: F401 - here for all forks

    while line := sys.stdin.buffer.readline():
        length, seconds = json.loads(line)
        request = sys.stdin.buffer.read(length)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _answer(request, writer)
        os.close(writer)
        output, is_over = _read(reader, seconds)
        os.close(reader)
        if not is_over:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.buffer.write(json.dumps([len(output), code if is_over else None]).encode() + b"\n" + output)
        sys.stdout.buffer.flush()


def _answer(request: bytes, writer: int) -> None:
    code = 1
    try:
        sys.stdin, sys.stdout = io.TextIOWrapper(io.BytesIO(request)), io.StringIO()
        extractor.main()
        with os.fdopen(writer, "wb") as file:
            file.write(sys.stdout.getvalue().encode())
        code = 0
    finally:
        os._exit(code)


def _read(reader: int, seconds: float) -> tuple[bytes, bool]:
    """Return what comes through a pipe, and whether it was closed in time."""
    until, output = time.monotonic() + seconds, b""
    while select.select([reader], [], [], max(0, until - time.monotonic()))[0]:
        if not (chunk := os.read(reader, 65536)):
            return output, True
        output += chunk
    return output, False


if __name__ == "__main__":
    _serve()
