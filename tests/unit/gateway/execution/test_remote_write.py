"""Writes to remote upstreams: each key is sent once, and an unknown outcome is never reported as known."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import OperationEvent
from core.database.deadlines import DeadlineExceeded
from core.demo_data import DEFAULT_SUBJECT
from gateway.batches import broker, runner, sweep
from gateway.execution import idempotency
from gateway.executors import EXECUTORS
from gateway.jobs import retention
from gateway.models import Batch, BatchEntry, IdempotencyRecord
from registry.catalog import cache
from registry.files import loader
from registry.models import Connection
from registry.releases import publishing
from tests.support.clients.api import Api, assert_refused
from tests.support.rows.op_entries import build_content, build_op_entry
from tests.support.servers.stores import Store
from tests.support.upstreams.http_servers import Server, build_response
from tests.support.upstreams.remote_upstream import OP, RemoteExecutor

pytestmark = pytest.mark.django_db(transaction=True)

KEYED = {"op": OP, "args": {}, "idempotency_key": "one"}
ENTRY = build_op_entry(OP, kind="write", summary="Send", needs_subject=False, connection="remote")
CONTENT = build_content(ENTRY, groups=("remote",))


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def upstream() -> Iterator[Server]:
    server = Server(lambda _: build_response(b'{"sent": true}'))
    yield server
    server.stop()


@pytest.fixture
def remote(live_catalog: Any, upstream: Server, monkeypatch: pytest.MonkeyPatch) -> RemoteExecutor:
    """Publish the op of the upstream and connect its executor."""
    loader.load_into_draft(CONTENT)
    executor = RemoteExecutor(upstream.port)
    monkeypatch.setitem(EXECUTORS, "elsewhere", executor)
    Connection.objects.filter(name="remote").update(kind="elsewhere")
    publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
    cache.refresh_live()
    return executor


def read_state() -> str:
    return IdempotencyRecord.objects.get().state


def run_and_disconnect(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


@pytest.mark.both_databases
def test_write_is_sent_once_and_replayed(api: Api, remote: RemoteExecutor, upstream: Server) -> None:
    first, second = (api.post("exec", KEYED) for _ in range(2))

    assert first.json()["result"] == second.json()["result"] == {"sent": True}
    assert second.json()["meta"]["replayed"] is True
    assert len(upstream.requests) == 1
    event_log.flush()
    assert OperationEvent.objects.filter(op=OP, ok=True, replayed=False).count() == 1


@pytest.mark.both_databases
def test_duplicate_is_refused_at_once_while_the_first_is_running(
    api: Api, remote: RemoteExecutor, upstream: Server, release: threading.Event
) -> None:
    arrived = threading.Event()

    def answer_slowly(_: bytes) -> bytes:
        arrived.set()
        release.wait(10)
        return build_response(b'{"sent": true}')

    upstream.answers = answer_slowly
    remote.timeout = 15
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(run_and_disconnect, lambda: api.post("exec", KEYED))
        assert arrived.wait(10)
        assert_refused(api.post("exec", KEYED), 409, "in_progress")
        release.set()
        assert first.result().json()["ok"] is True

    assert len(upstream.requests) == 1


@pytest.mark.both_databases
def test_key_is_freed_when_the_upstream_cannot_be_reached(api: Api, remote: RemoteExecutor, upstream: Server) -> None:
    port, remote.port = remote.port, 1

    error = assert_refused(api.post("exec", KEYED), 503, "upstream_unreachable")
    assert error["details"]["retryable"] is True
    assert not IdempotencyRecord.objects.exists()

    remote.port = port
    assert api.post("exec", KEYED).json()["ok"] is True
    assert len(upstream.requests) == 1


def test_refusal_by_the_upstream_is_stored(api: Api, remote: RemoteExecutor, upstream: Server) -> None:
    upstream.answers = lambda _: build_response(b"{}", "409 Conflict")

    for _ in range(2):
        assert_refused(api.post("exec", KEYED), 409, "refused_there")

    assert (read_state(), len(upstream.requests)) == ("done", 1)


def test_outcome_is_unknown_and_not_sent_again_when_the_upstream_is_silent(
    api: Api, remote: RemoteExecutor, upstream: Server, release: threading.Event
) -> None:
    upstream.answers = lambda _: [b"" for _ in range(1) if release.wait(10)]
    remote.timeout = 0.2

    assert_refused(api.post("exec", KEYED), 504, "outcome_unknown")
    error = assert_refused(api.post("exec", KEYED), 409, "outcome_unknown")

    assert error["details"]["retryable"] is False
    assert (read_state(), len(upstream.requests)) == ("unknown", 1)

    IdempotencyRecord.objects.update(expires_at=timezone.now() - timedelta(days=1))
    retention.delete_idempotency_records(timezone.now())
    assert_refused(api.post("exec", KEYED), 409, "outcome_unknown")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("fault", [RuntimeError("a bug"), DeadlineExceeded(), OperationalError("lost")])
def test_outcome_is_unknown_when_anything_fails_after_sending(
    api: Api, remote: RemoteExecutor, upstream: Server, fault: Exception
) -> None:
    remote.before_return = Mock(side_effect=fault)

    error = assert_refused(api.post("exec", KEYED), 504, "outcome_unknown")
    assert_refused(api.post("exec", KEYED), 409, "outcome_unknown")

    assert "othing was" not in error["message"]
    assert error["details"]["retryable"] is False
    assert (read_state(), len(upstream.requests)) == ("unknown", 1)


def test_outcome_is_unknown_when_it_cannot_be_stored(
    api: Api, remote: RemoteExecutor, upstream: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "store_response", Mock(side_effect=OperationalError("the database went")))

    assert_refused(api.post("exec", KEYED), 504, "outcome_unknown")
    assert_refused(api.post("exec", KEYED), 409, "in_progress")
    IdempotencyRecord.objects.update(doubtful_at=timezone.now() - timedelta(seconds=1))
    assert_refused(api.post("exec", KEYED), 409, "outcome_unknown")

    assert len(upstream.requests) == 1


@pytest.mark.both_databases
def test_outcome_is_stored_when_another_runner_has_the_entry(
    api: Api, remote: RemoteExecutor, upstream: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_entry_away() -> None:
        BatchEntry.objects.update(holder="another")

    remote.before_return = give_entry_away
    monkeypatch.setattr(broker, "wake_workers", lambda *_: None)
    accepted = api.post("batch", {"ops": [{"type": "exec", **KEYED}]}, Prefer="respond-async").json()

    runner.run_turn(UUID(accepted["batch_id"]))

    assert BatchEntry.objects.get().state == "running"
    assert (read_state(), len(upstream.requests)) == ("done", 1)


@pytest.mark.both_databases
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_entry_has_an_unknown_outcome_when_its_process_died_while_sending(
    api: Api, remote: RemoteExecutor, upstream: Server, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(broker, "wake_workers", lambda *_: None)
    body = {"ops": [{"type": "exec", **KEYED}], "mode": mode}
    id = UUID(api.post("batch", body, Prefer="respond-async").json()["batch_id"])
    batch = Batch.objects.get()
    with monkeypatch.context() as patch:
        patch.setattr(remote, "apply", Mock(side_effect=_ProcessDeath))
        patch.setattr(idempotency, "mark_outcome_unknown", lambda _: None)  # a dead process marks nothing
        with pytest.raises(_ProcessDeath):
            runner.run_turn(id)
    _lose_runners()

    assert runner.run_next_entry(batch)  # the first attempt may still finish
    entry = BatchEntry.objects.get()
    assert (entry.state, entry.attempts) == ("running", 2)
    assert entry.held_until > timezone.now() + timedelta(seconds=30)
    assert not runner.run_next_entry(batch)

    IdempotencyRecord.objects.update(doubtful_at=timezone.now() - timedelta(seconds=1))
    Batch.objects.update(runs_until=timezone.now() - timedelta(seconds=1))
    _lose_runners()
    sweep.sweep_batches()
    api.http.delete(f"/api/v1/batches/{id}", headers=api.headers)
    assert runner.run_next_entry(batch)

    entry_result = api.get(f"batches/{id}").json()["results"][0]
    assert entry_result["error"]["details"]["reason"] == "outcome_unknown"
    assert upstream.requests == []


class _ProcessDeath(BaseException):
    """An exception that no code handles."""


def _lose_runners() -> None:
    BatchEntry.objects.update(held_until=timezone.now() - timedelta(seconds=1))


CRASH_SCRIPT = """
import django, os, signal, sys
django.setup()
from core.background import poller
from gateway.access import key_verification
from gateway.contracts.envelopes import Trace
from gateway.execution import pipeline
from gateway.executors import EXECUTORS
from gateway.access.request_context import Caller, UserContext
from tests.support.upstreams.remote_upstream import OP, RemoteExecutor

poller.refresh()
executor = EXECUTORS["elsewhere"] = RemoteExecutor(int(sys.argv[1]))
executor.before_return = lambda: os.kill(os.getpid(), signal.SIGKILL)
key = key_verification.verify(sys.argv[2])
caller = Caller(key=key, subject=sys.argv[3], context=UserContext())
pipeline.execute(body={"op": OP, "args": {}, "idempotency_key": "one"}, caller=caller, trace=Trace("tr_crash"))
"""


def test_outcome_is_unknown_when_the_process_dies_before_storing_it(
    api: Api, remote: RemoteExecutor, upstream: Server, make_key: Callable[..., str]
) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    url = Store(str(connection.settings_dict["NAME"])).url

    process = subprocess.run(
        [sys.executable, "-c", CRASH_SCRIPT, str(upstream.port), key, DEFAULT_SUBJECT],
        env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=settings.BASE_DIR,
        check=False,
        capture_output=True,
        text=True,
    )

    assert process.returncode == -signal.SIGKILL, process.stderr
    assert (read_state(), len(upstream.requests)) == ("claimed", 1)
    assert_refused(api.post("exec", KEYED), 409, "in_progress")
    IdempotencyRecord.objects.update(doubtful_at=timezone.now() - timedelta(seconds=1))
    assert_refused(api.post("exec", KEYED), 409, "outcome_unknown")
    assert len(upstream.requests) == 1
