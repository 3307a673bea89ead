"""Batches as tests send them, and what becomes of them."""

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

from gateway.batches import runner, sweep
from gateway.models import Batch
from tests.support.api import Api
from workspace.contract import OpOutcome, OpRequest
from workspace.demo import DEMO_PROJECT_ID
from workspace.handlers import HANDLERS

LIST = {"type": "exec", "op": "onto.task.list", "args": {"limit": 1}}
BAD = {"type": "exec", "op": "onto.task.get", "args": {"task_id": "no uuid"}}


def create(title: str, **more: Any) -> dict[str, Any]:
    args = {"project_id": DEMO_PROJECT_ID, "title": title}
    return {"type": "exec", "op": "onto.task.create", "args": args, **more}


def batch(api: Api, *ops: dict[str, Any], **body: Any) -> dict[str, Any]:
    response = api.post("batch", {"ops": list(ops), **body})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    assert [result["index"] for result in answer["results"]] == list(range(len(ops)))
    assert [result["type"] for result in answer["results"]] == [op["type"] for op in ops]
    return answer


def reasons(answer: dict[str, Any]) -> list[str]:
    return ["" if each["ok"] else each["error"]["details"]["reason"] for each in answer["results"]]


def slow(monkeypatch: pytest.MonkeyPatch, name: str, seconds: float) -> None:
    """Have an op take so long."""
    _before(monkeypatch, name, lambda: time.sleep(seconds))


def together(monkeypatch: pytest.MonkeyPatch, name: str, calls: int) -> None:
    """Have each call of an op wait for so many others at once, and fail where they do not come."""
    meeting = threading.Barrier(calls, timeout=10)
    _before(monkeypatch, name, meeting.wait)


@contextmanager
def held(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[threading.Event]:
    """Hold an op's calls for as long as the block lasts; yield what tells that one has begun."""
    began, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        began.set()
        go_on.wait(20)

    _before(monkeypatch, name, wait)
    try:
        yield began
    finally:
        go_on.set()


def _before(monkeypatch: pytest.MonkeyPatch, name: str, do: Callable[[], object]) -> None:
    whole = HANDLERS[name]

    def apply(request: OpRequest) -> OpOutcome:
        do()
        return whole.apply(request)

    monkeypatch.setitem(HANDLERS, name, replace(whole, apply=apply))


def in_the_background(api: Api, *ops: dict[str, Any], **body: Any) -> str:
    response = api.post("batch", {"ops": list(ops), **body}, Prefer="respond-async")
    assert response.status_code == 202, response.content
    return str(response.json()["batch_id"])


def until_done(api: Api, id: str, *, within: float) -> None:
    """Wait until a batch is done."""
    started = time.monotonic()
    while api.get(f"batches/{id}?wait=1").json()["status"] != "done":
        assert time.monotonic() - started < within


def sweep_until_done(id: str) -> None:
    """Do what workers do for a batch that only the sweep tells them of."""
    Batch.objects.filter(pk=id).update(woken_at=timezone.now() - timedelta(minutes=5))
    sweep.sweep_batches()
    runner.run_turn(UUID(id))
