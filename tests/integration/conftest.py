"""What journeys through the API share: how an envelope is checked, wherever it comes from."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse

from analytics.events import event_log
from analytics.models import OperationEvent
from config import celery
from gateway.batches import broker
from gateway.contracts.errors import ErrorCode
from gateway.models import BatchEntry
from tests.conftest import Api

SECRET = "canary-7f3a91c0-sent-but-never-told"


def refused(response: HttpResponse, status: int, reason: str) -> dict[str, Any]:
    """Hold an answer against what every error of the API promises, and return its `error`."""
    envelope = response.json()
    text = response.content.decode()
    assert (response.status_code, envelope["error"]["details"]["reason"]) == (status, reason), text
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Gateway-Trace"] == envelope["meta"]["trace_id"]
    assert envelope["ok"] is False
    assert set(envelope) == {"op", "ok", "error", "meta"}
    assert set(envelope["error"]) == {"code", "message", "details", "help_path"}
    assert envelope["error"]["code"] in ErrorCode.values
    assert {"trace_id", "latency_ms", "warnings"} <= set(envelope["meta"])
    assert "Traceback" not in text
    assert SECRET not in text
    error: dict[str, Any] = envelope["error"]
    return error


@pytest.fixture
def told(db: None) -> Callable[[], list[OperationEvent]]:
    """Return the operation events recorded so far, oldest first."""

    def read() -> list[OperationEvent]:
        event_log.flush()
        return list(OperationEvent.objects.order_by("id"))

    return read


@pytest.fixture
def another(make_key: Callable[..., str]) -> Callable[..., Api]:
    """Make another chat service: key and client fields by name; `speaks_for` is its Gateway-Subject."""

    def make(*, speaks_for: str = "demo-user", **fields: Any) -> Api:
        return Api(make_key(**fields), speaks_for)

    return make


@pytest.fixture(scope="session")
def worker() -> None:
    celery.start_embedded_worker()


@pytest.fixture
def workers(worker: None) -> None:
    """The worker of a web process, which runs in threads of this one."""
    broker._sender._failed_at = 0.0


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The batches for which a message was to be sent, one for each; none is."""
    sent: list[str] = []
    monkeypatch.setattr(broker._sender, "put", lambda id, _: sent.append(str(id)))
    return sent


@pytest.fixture
def quiet() -> Iterator[None]:
    """Leave no entry running behind a test: its threads would meet the next one's rows."""
    yield
    until = time.monotonic() + 5
    while BatchEntry.objects.filter(state="running").exists() and time.monotonic() < until:
        time.sleep(0.02)
    event_log.discard_queued()
    connection.close()
