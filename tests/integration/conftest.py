"""Fixtures of the integration tests: recorded events, more API clients, an embedded worker, a row of every model."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client as HttpClient
from django.test import override_settings
from django.utils import timezone

from analytics.events import event_log
from analytics.events.models import EventLoss, OperationEvent
from analytics.flags import FlagKey
from analytics.reports.models import SavedView
from analytics.rollout import exposures
from analytics.rollout.evaluation import EvaluationDetails, Reason
from analytics.rollout.models import Cohort
from analytics.rollups import rollup_job
from analytics.turns.models import Feedback, ToolSelection
from analytics.turns.prices import ModelPrice
from chat.models import Profile as ChatProfile
from config import celery
from console import sidebar
from core.background import task_queue
from gateway.batches import broker, sweep
from gateway.jobs import runner
from gateway.models import (
    ApiKey,
    BatchEntry,
    Client,
    ModelRun,
    PendingInput,
    SignedInApplication,
    StoredFile,
    TurnLabel,
    UsedConfirmation,
    UserGrant,
    UserKey,
)
from notifications import outbox
from notifications.outbox import OutgoingMessage
from registry.drafts import switch_service
from registry.models import Connection, EvalCase, OpEmbedding, ScheduledPublish
from registry.releases.selection import load_selection
from registry.reviews import requests
from tests.support.background import wait_until_idle
from tests.support.clients.api import Api
from tests.support.clients.oauth_client import register_application
from tests.support.console import role_matrix
from tests.support.rows.experiment_rows import create_draft
from workspace.demo import DEMO_PROJECT_ID


@pytest.fixture
def confirming_api(live_catalog: object, make_key: Callable[..., str]) -> Api:
    """Return a client whose users the gateway asks for confirmation."""
    return Api(make_key(confirms=True))


@pytest.fixture
def read_events(db: None) -> Callable[[], list[OperationEvent]]:
    """Return the operation events recorded so far, oldest first."""

    def read() -> list[OperationEvent]:
        event_log.flush()
        return list(OperationEvent.objects.order_by("id"))

    return read


@pytest.fixture
def gateway_enabled(settings: Any) -> None:
    """Have cohorts decide which surface a user gets."""
    settings.AGENTIC_CHAT_TOOL_GATEWAY = True


@pytest.fixture
def make_api(make_key: Callable[..., str]) -> Callable[..., Api]:
    """Return a function that makes an API client with its own key.

    Fields of the key and of its client are passed by name. `acts_for` is sent as Gateway-Subject.
    """

    def make(*, acts_for: str = "demo-user", **fields: Any) -> Api:
        return Api(make_key(**fields), acts_for)

    return make


@pytest.fixture(scope="session")
def worker_threads() -> ThreadPoolExecutor:
    """The threads of an embedded worker. Tests that do not ask for it have none, whatever ran before."""
    celery.start_embedded_worker()
    threads = task_queue._threads
    assert threads is not None
    task_queue._threads, sweep.is_worker = None, False
    return threads


@pytest.fixture
def embedded_worker(worker_threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Run the embedded worker of a web process in threads of the test process.

    They end their work before the test ends: an entry is done before its thread is, which would see the next test.
    """
    broker._sender._failed_at = 0.0
    monkeypatch.setattr(broker, "SEND_TIMEOUT", 5.0)  # a busy machine is not a broker that is down
    monkeypatch.setattr(task_queue, "_threads", worker_threads)
    monkeypatch.setattr(sweep, "is_worker", True)
    yield
    wait_until_idle(worker_threads)


@pytest.fixture
def queued_batches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the id of the batch for each thread that a message to the broker would wake. No message is sent."""
    sent: list[str] = []
    monkeypatch.setattr(broker._sender, "enqueue", lambda id, _, threads: sent.extend([str(id)] * threads))
    return sent


@pytest.fixture
def wait_for_running_entries() -> Iterator[None]:
    """Wait after the test until no entry runs, because its threads would see the rows of the next test."""
    yield
    deadline = time.monotonic() + 5
    while BatchEntry.objects.filter(state="running").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    event_log.discard_queued()
    connection.close()


@pytest.fixture
def row_of_every_model(api: Api) -> None:
    """Create at least one row of every model of this project."""
    args = {"project_id": DEMO_PROJECT_ID, "title": "<script>alert(1)</script>"}
    assert api.post(
        "exec", {"op": "onto.task.create", "args": args, "idempotency_key": "once"}, Gateway_Turn="t1"
    ).json()["ok"]
    api.post("batch", {"ops": [{"type": "help", "path": "root"}]})
    event_log.flush()
    runner.run_due_jobs(at=timezone.now())
    Cohort.objects.create(name="dev-team", flag_id=FlagKey.SURFACE, variant="gateway", percentage=5)
    create_draft(timezone.now(), hypothesis="<b>Fewer</b> failures")
    ModelPrice.objects.create(family="claude", dollars_per_million=3)
    details = EvaluationDetails(FlagKey.SURFACE, "gateway", "dev-team", Reason.SPLIT)
    exposures.record_exposures([details], subject="ana", source="", at=timezone.now())
    rollup_job.run_rollup(timezone.now())
    ToolSelection.objects.create(time=timezone.now(), client="chat", turn="t1", toolset="0123", missed=["send_email"])
    EventLoss.objects.create(time=timezone.now(), count=3)
    Feedback.objects.create(time=timezone.now(), client="chat", turn="t1", thumb="down", reason="<b>Wrong task</b>")
    exposures.flush()
    exposures.flush_subjects()
    UsedConfirmation.objects.create(digest="0" * 64, client=Client.objects.get(), op="a.b", used_at=timezone.now())
    TurnLabel.objects.create(turn="0" * 32, label="private", connection="crm", op="a.b", brought_at=timezone.now())
    PendingInput.objects.create(
        digest="0" * 64, client=Client.objects.get(), op="a.b", created_at=timezone.now(), expires_at=timezone.now()
    )
    connection = Connection.objects.order_by("name").first()
    assert connection is not None
    UserGrant.objects.create(connection=connection, subject="ana", access_token="x")
    now = timezone.now()
    UserKey.objects.create(
        connection=connection, client=Client.objects.get(), subject="ana", secret="x", entered_at=now
    )
    StoredFile.objects.create(
        client=Client.objects.get(),
        name="a.txt",
        content_type="text/plain",
        content=b"a",
        size=1,
        created_at=now,
        expires_at=now,
    )
    ChatProfile.objects.create(user=User.objects.create_user("chatter"), subject="demo-user")
    SignedInApplication.objects.create(
        application=register_application(), user=User.objects.get(username="chatter"), key=ApiKey.objects.get()
    )
    ModelRun.objects.create(model="big", state="done", created_by="ana", results=[role_matrix.MODEL_RUN_RESULT])
    with override_settings(GATEWAY_SENDS_EMAIL=True):
        message = OutgoingMessage("review.asked", "<b>ana</b> asks for a review", "Please", "/admin/", "ana")
        outbox.notify(
            message, recipients=["<ben>@example.com"], at=timezone.now() + timedelta(days=1)
        )  # not sent meanwhile
    requests.ask_for_review(load_selection(), summary="1 op", comment="<b>See</b>", by="ana", at=timezone.now())
    ScheduledPublish.objects.create(
        version="0" * 64,
        summary="1 op",
        note="<b>Later</b>",
        publish_at=timezone.now() + timedelta(days=1),
        created_by="ana",
        created_at=timezone.now(),
    )
    EvalCase.objects.create(request="Remind me to call the printers", op="onto.task.create", tags=["terse"])
    chatter = User.objects.get(username="chatter")
    SavedView.objects.create(
        name="<b>Failed</b>", page="report_ops", query="days=7", owner=chatter, is_shared=True, saved_at=now
    )
    OpEmbedding.objects.create(text_hash="0" * 64, text="List tasks", used_at=timezone.now())
    AccessAttempt.objects.create(username="ana", ip_address="192.0.2.7", user_agent="Firefox", failures_since_start=3)
    switch_service.switch_off(kind="op", name="onto.task.move", reason="Tested", by="tests", at=timezone.now())


@pytest.fixture
def short_sidebar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show only Home in the sidebar. The whole one, the same on every page, takes a fifth of the time of a page."""
    monkeypatch.setattr(sidebar, "SECTIONS", {})


@pytest.fixture
def rows(row_of_every_model: None, admin_client: HttpClient) -> dict[str, Any]:
    """Return one row of every model, by label."""
    return role_matrix.pick_row_of_each_model()


@pytest.fixture
def logged_in_user(client: HttpClient, letter: str) -> User:
    """Log in a user with the role that `letter` stands for in `role_matrix.ROLES_BY_LETTER`."""
    user = role_matrix.create_user_with_role(letter)
    client.force_login(user)
    return user
