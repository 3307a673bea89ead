"""What journeys through the API share: how an envelope is checked, wherever it comes from."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client as HttpClient
from django.utils import timezone

from analytics.events import event_log
from analytics.models import Cohort, OperationEvent, ToolSelection
from analytics.rollout import exposures, last_seen
from analytics.rollout.evaluation import EvaluationDetails, Reason
from analytics.rollout.flags import FlagKey
from analytics.rollups import rollup_job
from config import celery
from gateway.batches import broker
from gateway.jobs import runner
from gateway.models import BatchEntry
from registry.drafts import switch_service
from tests.support import role_matrix
from tests.support.api import Api
from workspace.demo import DEMO_PROJECT_ID


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
    monkeypatch.setattr(broker._sender, "enqueue", lambda id, _: sent.append(str(id)))
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


@pytest.fixture
def everything(api: Api) -> None:
    """At least one row of every model of ours."""
    args = {"project_id": DEMO_PROJECT_ID, "title": "<script>alert(1)</script>"}
    assert api.post(
        "exec", {"op": "onto.task.create", "args": args, "idempotency_key": "once"}, Gateway_Turn="t1"
    ).json()["ok"]
    api.post("batch", {"ops": [{"type": "help", "path": "root"}]})
    event_log.flush()
    runner.run_due_jobs(at=timezone.now())
    Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway", percentage=5)
    outcome = EvaluationDetails(FlagKey.SURFACE, "gateway", "dev-team", Reason.SPLIT)
    exposures.record_exposures([outcome], subject="ana", at=timezone.now())
    rollup_job.run(timezone.now())
    ToolSelection.objects.create(time=timezone.now(), client="chat", turn="t1", toolset="0123", missed=["send_email"])
    exposures.flush()
    last_seen.flush()
    switch_service.switch_off(kind="op", name="onto.task.move", reason="Tested", by="tests", at=timezone.now())


@pytest.fixture
def rows(everything: None, admin_client: HttpClient) -> dict[str, Any]:
    """A row of every model."""
    return role_matrix.one_of_each()


@pytest.fixture
def person(client: HttpClient, letter: str) -> User:
    """Somebody with the role that a letter stands for, logged in."""
    found = role_matrix.create_person(letter)
    client.force_login(found)
    return found
