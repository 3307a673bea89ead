"""Background work in tests: at once and in this thread, so that it sees the test's transaction, or waited for."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gateway.executors.mcp import definition_check
from gateway.model_evals import job as model_eval_job
from registry.imports import drift, import_job
from tests.support.servers.processes import PATIENCE


@pytest.fixture
def background_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run background work where it is started."""

    def run(name: str, work: Callable[[], object]) -> None:
        work()

    for module in (drift, import_job, definition_check, model_eval_job):
        monkeypatch.setattr(module, "run_in_background", run)


def wait_until_idle(threads: ThreadPoolExecutor) -> None:
    """Wait until threads have done all their work, also what that gave them to do."""
    count = threads._max_workers
    is_idle: list[bool] = []  # whether nothing was queued when all threads waited at once
    while not any(is_idle):
        all_wait = Barrier(count + 1, action=lambda: is_idle.append(threads._work_queue.empty()))
        for _ in range(count):
            threads.submit(all_wait.wait, PATIENCE)
        all_wait.wait(PATIENCE)
