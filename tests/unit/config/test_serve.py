"""How the server stops its workers."""

import logging
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from config.serve import PersistentServer

ENDS_UNNOTICED = 3  # looks at a worker that has ended, until its end is known


class FakeWorker:
    """A worker that has ended, which is known after some looks; or one that never ends by itself."""

    idx = 0

    def __init__(self, *, ends: bool) -> None:
        self.was_killed = False
        self._looks: Iterator[bool] = chain(repeat(True, ENDS_UNNOTICED), repeat(False)) if ends else repeat(True)

    def is_alive(self) -> bool:
        return not self.was_killed and next(self._looks)

    def terminate(self) -> None: ...

    def join(self, timeout: float | None = None) -> None: ...

    def kill(self) -> None:
        self.was_killed = True


def stop(worker: FakeWorker, *, within: int) -> None:
    server = object.__new__(PersistentServer)  # without what it needs to serve
    server.wrks, server.workers_kill_timeout = [worker], within
    server._stop_workers()


def test_worker_that_ends_is_not_killed_nor_said_to_be(caplog: pytest.LogCaptureFixture) -> None:
    worker = FakeWorker(ends=True)

    with caplog.at_level(logging.WARNING):
        stop(worker, within=25)

    assert not worker.was_killed
    assert not caplog.records


def test_worker_that_does_not_end_is_killed() -> None:
    worker = FakeWorker(ends=False)

    stop(worker, within=1)

    assert worker.was_killed
