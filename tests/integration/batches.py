"""Batches as tests send them, and what becomes of them."""

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from gateway.batches import running, sweep
from gateway.models import Batch
from tests.conftest import Api
from workspace.contract import Outcome, Request
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


def slow(monkeypatch: pytest.MonkeyPatch, name: str, seconds: float) -> list[float]:
    """Have an op take so long; return when each call began."""
    began: list[float] = []
    whole = HANDLERS[name]

    def waits(request: Request) -> Outcome:
        began.append(time.monotonic())
        time.sleep(seconds)
        return whole.apply(request)

    monkeypatch.setitem(HANDLERS, name, replace(whole, apply=waits))
    return began


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
    sweep.sweep()
    running.work(UUID(id))
