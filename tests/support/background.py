"""Background work in tests: at once and in this thread, so that it sees the test's transaction."""

from collections.abc import Callable

import pytest

from gateway.executors.mcp import definition_check
from gateway.model_evals import job as model_eval_job
from registry.imports import drift, import_job


@pytest.fixture
def background_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run background work where it is started."""

    def run(name: str, work: Callable[[], object]) -> None:
        work()

    for module in (drift, import_job, definition_check, model_eval_job):
        monkeypatch.setattr(module, "run_in_background", run)
