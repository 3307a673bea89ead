"""Sending batches, controlling their handlers, and waiting for them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from core.handler_contract import OpOutcome, OpRequest
from gateway.batches import runner, sweep
from gateway.models import Batch
from tests.support.clients.api import Api
from tests.support.servers.processes import PATIENCE
from workspace.demo import DEMO_PROJECT_ID
from workspace.handlers import HANDLERS

LIST = {"type": "exec", "op": "onto.task.list", "args": {"limit": 1}}
INVALID = {"type": "exec", "op": "onto.task.get", "args": {"task_id": "not a uuid"}}


def build_create_entry(title: str, **more: Any) -> dict[str, Any]:
    args = {"project_id": DEMO_PROJECT_ID, "title": title}
    return {"type": "exec", "op": "onto.task.create", "args": args, **more}


def send_batch(api: Api, *ops: dict[str, Any], **body: Any) -> dict[str, Any]:
    response = api.post("batch", {"ops": list(ops), **body})
    assert response.status_code == 200, response.content
    batch: dict[str, Any] = response.json()
    assert [result["index"] for result in batch["results"]] == list(range(len(ops)))
    assert [result["type"] for result in batch["results"]] == [op["type"] for op in ops]
    return batch


def get_reasons(batch: dict[str, Any]) -> list[str]:
    return ["" if each["ok"] else each["error"]["details"]["reason"] for each in batch["results"]]


def slow_down_op(monkeypatch: pytest.MonkeyPatch, name: str, seconds: float) -> None:
    wrap_handler(monkeypatch, name, before=lambda: time.sleep(seconds))


def require_parallel_calls(monkeypatch: pytest.MonkeyPatch, name: str, calls: int) -> None:
    """Make calls of an op wait until this many run at once. They fail if the others do not come."""
    barrier = threading.Barrier(calls, timeout=10)
    wrap_handler(monkeypatch, name, before=barrier.wait)


@contextmanager
def hold_op(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[threading.Event]:
    """Hold the calls of an op until the block ends. Yields an event that is set when a call has started."""
    started, release = threading.Event(), threading.Event()

    def wait() -> None:
        started.set()
        release.wait(20)

    wrap_handler(monkeypatch, name, before=wait)
    try:
        yield started
    finally:
        release.set()


def wrap_handler(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    *,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
) -> None:
    """Let something happen before or after what the handler of an op does, in its transaction."""
    original = HANDLERS[name]

    def apply(request: OpRequest) -> OpOutcome:
        before()
        outcome = original.apply(request)
        after()
        return outcome

    monkeypatch.setitem(HANDLERS, name, replace(original, apply=apply))


def send_background_batch(api: Api, *ops: dict[str, Any], **body: Any) -> str:
    response = api.post("batch", {"ops": list(ops), **body}, Prefer="respond-async")
    assert response.status_code == 202, response.content
    return str(response.json()["batch_id"])


def wait_until_done(api: Api, id: str, *, within: float = PATIENCE, status: str = "done") -> None:
    start = time.monotonic()
    while api.get(f"batches/{id}?wait=1").json()["status"] != status:
        assert time.monotonic() - start < within


def sweep_until_done(id: str) -> None:
    """Sweep and run a batch without messages, as workers do."""
    Batch.objects.filter(pk=id).update(woken_at=timezone.now() - timedelta(minutes=5))
    sweep.sweep_batches()
    runner.run_turn(UUID(id))
