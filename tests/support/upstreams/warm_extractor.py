"""The extractor of web pages as forks of one process that has imported its library, which takes a second.

Each page is read by `core.web_text.extractor.main` in a process of its own, with all its limits. Tests of how that
process is started do not use this fixture.

As a program, this module is the process that forks: python -m tests.support.upstreams.warm_extractor.
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

import pytest

from core import limited_process
from core.web_text import extractor


class WarmExtractor:
    """Runs the extractor in place of `core.limited_process.run`."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.support.upstreams.warm_extractor"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=limited_process.ROOT, **pipes)
        self._lock = threading.Lock()

    def run(self, program: str, request: bytes, *, seconds: float, memory: int) -> bytes:
        """Read a page as the program would."""
        assert program == extractor.__name__
        with self._lock:
            self.process.stdin.write(json.dumps([len(request), seconds, memory]).encode() + b"\n" + request)
            self.process.stdin.flush()
            length, code = json.loads(self.process.stdout.readline())
            output = self.process.stdout.read(length)
        if code is None:
            raise limited_process.ProcessTimedOut
        if code != 0:
            raise limited_process.ProcessFailed
        return output

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
    monkeypatch.setattr(limited_process, "run", started_extractor.run)


def _serve() -> None:
    """Read one request after the other from stdin, and answer each from a fork."""
    import trafilatura  # noqa: F401 - here for all forks

    while line := sys.stdin.buffer.readline():
        length, seconds, memory = json.loads(line)
        request = sys.stdin.buffer.read(length)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _answer(request, writer, [int(seconds) + limited_process.START_SECONDS, memory, 0])
        os.close(writer)
        output, is_over = _read(reader, seconds)
        os.close(reader)
        if not is_over:
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sys.stdout.buffer.write(json.dumps([len(output), code if is_over else None]).encode() + b"\n" + output)
        sys.stdout.buffer.flush()


def _answer(request: bytes, writer: int, limits: list[int]) -> None:
    code = 1
    try:
        limited_process.set_limits(*limits)
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
