"""A call that runs in the background: its progress is shown once, its end is its answer, a stop cancels it."""

from collections.abc import Iterator
from typing import Any

import pytest

from chat.gateway import followed_calls
from chat.gateway.client import GatewayAnswer
from core.http import Abort

DONE = {"index": 0, "type": "exec", "op": "a.b", "ok": True, "result": {"text": "Read."}, "meta": {}}


def build_status(entry: dict[str, Any]) -> GatewayAnswer:
    return GatewayAnswer(200, {"batch_id": "7", "results": [entry]}, "")


class FakeGateway:
    """Answers with one status after another. `calls` are the methods and paths."""

    def __init__(self, *entries: dict[str, Any]) -> None:
        self.calls: list[tuple[str, str]] = []
        self._statuses: Iterator[GatewayAnswer] = map(build_status, entries)

    def call(self, method: str, path: str, _: Any, **__: Any) -> GatewayAnswer:
        self.calls.append((method, path))
        return next(self._statuses)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_calls, "POLL_SECONDS", 0.0)


def build_running(done: int) -> dict[str, Any]:
    return {"index": 0, "type": "exec", "op": "a.b", "status": "running", "progress": {"done": done}}


def test_progress_is_shown_until_the_call_has_ended() -> None:
    gateway, shown = FakeGateway(build_running(1), build_running(2), DONE), list[Any]()
    accepted = build_status({"index": 0, "type": "exec", "op": "a.b", "status": "pending"})

    answer = followed_calls.follow(gateway, accepted, Abort(), shown.append)  # type: ignore[arg-type]

    assert answer.body == {"op": "a.b", "ok": True, "result": {"text": "Read."}, "meta": {}}
    assert shown == [{"done": 1}, {"done": 2}]
    assert gateway.calls == [("GET", "batches/7?wait=1")] * 3


def test_call_that_is_done_at_once_is_not_polled() -> None:
    gateway = FakeGateway()

    assert followed_calls.follow(gateway, build_status(DONE), Abort(), print).body["ok"] is True  # type: ignore[arg-type]
    assert gateway.calls == []


def test_stopped_turn_cancels_the_call() -> None:
    cancelled = {**DONE, "ok": False}
    gateway, abort = FakeGateway(build_running(1), cancelled), Abort()
    abort.set()

    answer = followed_calls.follow(gateway, build_status(build_running(1)), abort, lambda _: None)  # type: ignore[arg-type]

    assert gateway.calls[0] == ("DELETE", "batches/7")
    assert answer.body["ok"] is False
