"""Writes that no transaction undoes: one sending a key, and no outcome that is not known is told as known."""

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from analytics.events import event_log
from analytics.models import OperationEvent
from core.deadlines import DeadlineExceeded
from gateway.batches import broker, runner, sweep
from gateway.contracts.errors import ConflictError, OutcomeUnknownError, UpstreamUnreachableError
from gateway.execution import idempotency
from gateway.executors import EXECUTORS
from gateway.executors.base import UpstreamCall, UpstreamResponse
from gateway.jobs import retention
from gateway.models import Batch, BatchEntry, IdempotencyRecord
from registry.catalog import connections, model
from registry.files import loader
from registry.releases import publishing
from tests.support.api import Api, refused
from tests.support.http_servers import Server, answer
from tests.support.servers.stores import Store
from workspace.demo import DEMO_SUBJECT

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]

OP = "remote.send"
KEYED = {"op": OP, "args": {}, "idempotency_key": "one"}
CONTENT = {
    "format": 1,
    "groups": [{"path": "remote", "summary": "Ops of an upstream elsewhere"}],
    "ops": [
        {
            "op": OP,
            "tool_name": "remote_send",
            "kind": "write",
            "summary": "Send",
            "parameters_schema": {"type": "object", "additionalProperties": False},
            "needs_subject": False,
            "connection": "remote",
        }
    ],
}


class Remote:
    """A scripted executor: it sends a request to a loopback server and reads what that says."""

    transactional = False

    def __init__(self, port: int) -> None:
        self.port = port
        self.after: Callable[[], None] = lambda: None  # what happens between an answer and its storing
        self.timeout = 2.0

    def prepare(self, work: UpstreamCall) -> None:
        """Prepare nothing."""

    def apply(self, work: UpstreamCall, prepared: Any) -> UpstreamResponse:
        upstream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            upstream.connect()
        except OSError:
            raise UpstreamUnreachableError("The upstream cannot be reached.") from None
        try:
            upstream.request("POST", "/", body=b"{}")
            said = upstream.getresponse()
            result = orjson.loads(said.read())
        except OSError:
            raise OutcomeUnknownError("The upstream did not answer.") from None
        finally:
            upstream.close()
        if said.status == 409:
            raise ConflictError("The upstream refused.", reason="refused_there")
        self.after()
        return UpstreamResponse(result)


@pytest.fixture
def go_on() -> Iterator[threading.Event]:
    """What a slow upstream waits for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def upstream() -> Iterator[Server]:
    server = Server(lambda _: answer(b'{"sent": true}'))
    yield server
    server.stop()


@pytest.fixture
def remote(live_catalog: Any, upstream: Server, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """The upstream's executor, with its one op live."""
    loader.load_into_draft(CONTENT)
    publishing.publish_draft(note="For tests", by="tests", at=timezone.now())
    model.refresh_live()
    connections.refresh_connections()
    executor = Remote(upstream.port)
    monkeypatch.setitem(EXECUTORS, "elsewhere", executor)
    kinds = connections._kinds | {"remote": "elsewhere"}
    monkeypatch.setattr(connections, "_kinds", kinds)
    return executor


def state() -> str:
    return IdempotencyRecord.objects.get().state


def in_a_thread(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connection.close()


def test_write_is_sent_once_and_replayed(api: Api, remote: Remote, upstream: Server) -> None:
    first, second = (api.post("exec", KEYED) for _ in range(2))

    assert first.json()["result"] == second.json()["result"] == {"sent": True}
    assert second.json()["meta"]["replayed"] is True
    assert len(upstream.requests) == 1
    event_log.flush()
    assert OperationEvent.objects.filter(op=OP, ok=True, replayed=False).count() == 1


def test_twin_is_refused_at_once_while_the_first_is_away(
    api: Api, remote: Remote, upstream: Server, go_on: threading.Event
) -> None:
    came = threading.Event()

    def slow(_: bytes) -> bytes:
        came.set()
        go_on.wait(10)
        return answer(b'{"sent": true}')

    upstream.answers = slow
    remote.timeout = 15
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(in_a_thread, lambda: api.post("exec", KEYED))
        assert came.wait(10)
        refused(api.post("exec", KEYED), 409, "in_progress")
        go_on.set()
        assert first.result().json()["ok"] is True

    assert len(upstream.requests) == 1


def test_upstream_that_cannot_be_reached_frees_the_key(api: Api, remote: Remote, upstream: Server) -> None:
    port, remote.port = remote.port, 1

    error = refused(api.post("exec", KEYED), 503, "upstream_unreachable")
    assert error["details"]["retryable"] is True
    assert not IdempotencyRecord.objects.exists()

    remote.port = port
    assert api.post("exec", KEYED).json()["ok"] is True
    assert len(upstream.requests) == 1


def test_refusal_by_the_upstream_is_kept(api: Api, remote: Remote, upstream: Server) -> None:
    upstream.answers = lambda _: answer(b"{}", "409 Conflict")

    for _ in range(2):
        refused(api.post("exec", KEYED), 409, "refused_there")

    assert (state(), len(upstream.requests)) == ("done", 1)


def test_silence_of_the_upstream_is_doubt_and_never_sent_again(
    api: Api, remote: Remote, upstream: Server, go_on: threading.Event
) -> None:
    upstream.answers = lambda _: [b"" for _ in range(1) if go_on.wait(10)]
    remote.timeout = 0.2

    refused(api.post("exec", KEYED), 504, "outcome_unknown")
    error = refused(api.post("exec", KEYED), 409, "outcome_unknown")

    assert error["details"]["retryable"] is False
    assert (state(), len(upstream.requests)) == ("unknown", 1)

    IdempotencyRecord.objects.update(expires_at=timezone.now() - timedelta(days=1))
    retention.idempotency_records(timezone.now())
    refused(api.post("exec", KEYED), 409, "outcome_unknown")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("fault", [RuntimeError("a bug"), DeadlineExceeded(), OperationalError("lost")])
def test_whatever_fails_after_the_sending_is_doubt(
    api: Api, remote: Remote, upstream: Server, fault: Exception
) -> None:
    def fails() -> None:
        raise fault

    remote.after = fails

    error = refused(api.post("exec", KEYED), 504, "outcome_unknown")
    refused(api.post("exec", KEYED), 409, "outcome_unknown")

    assert "othing was" not in error["message"]
    assert error["details"]["retryable"] is False
    assert (state(), len(upstream.requests)) == ("unknown", 1)


def test_outcome_that_cannot_be_stored_is_doubt(
    api: Api, remote: Remote, upstream: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise OperationalError("the database went")

    monkeypatch.setattr(idempotency, "store_response", lost)

    refused(api.post("exec", KEYED), 504, "outcome_unknown")
    refused(api.post("exec", KEYED), 409, "in_progress")
    IdempotencyRecord.objects.update(doubtful_at=timezone.now() - timedelta(seconds=1))
    refused(api.post("exec", KEYED), 409, "outcome_unknown")

    assert len(upstream.requests) == 1


def test_outcome_is_kept_though_the_batch_has_given_its_entry_to_another(
    api: Api, remote: Remote, upstream: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given_away() -> None:
        BatchEntry.objects.update(runner="another")

    remote.after = given_away
    monkeypatch.setattr(broker, "wake_workers", lambda *_: None)
    taken = api.post("batch", {"ops": [{"type": "exec", **KEYED}]}, Prefer="respond-async").json()

    runner.run_turn(UUID(taken["batch_id"]))

    assert BatchEntry.objects.get().state == "running"
    assert (state(), len(upstream.requests)) == ("done", 1)


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_entry_whose_process_died_while_it_was_sent_ends_in_doubt_also_past_its_time(
    api: Api, remote: Remote, upstream: Server, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(broker, "wake_workers", lambda *_: None)
    body = {"ops": [{"type": "exec", **KEYED}], "mode": mode}
    id = UUID(api.post("batch", body, Prefer="respond-async").json()["batch_id"])
    batch = Batch.objects.get()
    with monkeypatch.context() as dying:
        dying.setattr(remote, "apply", _dies)
        dying.setattr(idempotency, "mark_outcome_unknown", lambda _: None)  # nor does what is dead note anything
        with pytest.raises(_Death):
            runner.run_turn(id)
    _lose_runners()

    assert runner.run_next_entry(batch)  # what the first did may still come to its end
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

    told = api.get(f"batches/{id}").json()["results"][0]
    assert told["error"]["details"]["reason"] == "outcome_unknown"
    assert upstream.requests == []


def _dies(*_: Any) -> UpstreamResponse:
    """End as a process does: nothing after this is done."""
    raise _Death


class _Death(BaseException):
    """Not handled by anything."""


def _lose_runners() -> None:
    BatchEntry.objects.update(held_until=timezone.now() - timedelta(seconds=1))


CRASHES = """
import django, os, signal, sys
django.setup()
from core import poller
from gateway.clients import api_keys
from gateway.contracts.envelopes import Trace
from gateway.execution import pipeline
from gateway.executors import EXECUTORS
from gateway.request_context import Caller, UserContext
from registry.catalog import connections
from tests.unit.gateway.execution.test_remote_write import OP, Remote

poller.refresh()
executor = EXECUTORS["elsewhere"] = Remote(int(sys.argv[1]))
executor.after = lambda: os.kill(os.getpid(), signal.SIGKILL)
connections._kinds["remote"] = "elsewhere"
key = api_keys.verify(sys.argv[2])
caller = Caller(key=key, subject=sys.argv[3], context=UserContext())
pipeline.execute(body={"op": OP, "args": {}, "idempotency_key": "one"}, caller=caller, trace=Trace("tr_crash"))
"""


def test_process_that_dies_between_sending_and_storing_leaves_doubt(
    api: Api, remote: Remote, upstream: Server, make_key: Callable[..., str]
) -> None:
    key = api.headers["Authorization"].removeprefix("Bearer ")
    url = Store(str(connection.settings_dict["NAME"])).url

    died = subprocess.run(
        [sys.executable, "-c", CRASHES, str(upstream.port), key, DEMO_SUBJECT],
        env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=settings.BASE_DIR,
        check=False,
        capture_output=True,
        text=True,
    )

    assert died.returncode == -signal.SIGKILL, died.stderr
    assert (state(), len(upstream.requests)) == ("claimed", 1)
    refused(api.post("exec", KEYED), 409, "in_progress")
    IdempotencyRecord.objects.update(doubtful_at=timezone.now() - timedelta(seconds=1))
    refused(api.post("exec", KEYED), 409, "outcome_unknown")
    assert len(upstream.requests) == 1
