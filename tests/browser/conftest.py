"""Servers with people of every role, and a browser for each person."""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, nullcontext
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import override_settings
from django.utils import timezone
from playwright.sync_api import Browser, expect, sync_playwright
from pytest_django.plugin import DjangoDbBlocker

from analytics.events.models import EventLoss, OperationEvent
from analytics.flags import FlagKey
from analytics.reports.models import SavedView
from analytics.rollout.models import Assignment, Cohort, Flag
from analytics.rollups import rollup_job
from analytics.turns.prices import ModelPrice
from chat.models import Profile as ChatProfile
from demo.traffic import activity
from gateway.jobs import runner
from gateway.models import (
    ApiKey,
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
from tests.services.conftest import serve, set_up_store, store
from tests.support.clients.oauth_client import register_application
from tests.support.console import browser_users, playwright_loop, role_matrix
from tests.support.console.browser_users import BrowserUser
from tests.support.rows.experiment_rows import create_draft
from tests.support.servers import stores
from tests.support.servers.environment import PEPPER, build_environment, make_key
from tests.support.servers.processes import Server, eventually, run_server
from tests.support.servers.stores import Store
from tools.chromium import find_chromium
from workspace.demo import DEMO_PROJECT_ID

__all__ = ["serve", "set_up_store", "store"]  # fixtures


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Show Playwright's loop only to tests with a browser."""
    with playwright_loop.visible() if item.get_closest_marker("browser") else nullcontext():
        return (yield)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    path = find_chromium()
    if not path:
        pytest.skip("Chromium was not found: install Debian's package chromium-headless-shell, or name one in CHROMIUM")
    # Playwright runs a loop in this thread, and Django would take each query for one from inside of it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=browser_users.WAITS_MS)
    playwright = sync_playwright().start()
    running = playwright.chromium.launch(executable_path=path, args=browser_users.FLAGS)
    yield running
    with playwright_loop.visible():  # this ends after the last test, which may be one without a browser
        running.close()
        playwright.stop()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


class SharedServer(NamedTuple):
    """A server for tests that only read pages, and a row of every model by its label."""

    server: Server
    rows: dict[str, Any]


@pytest.fixture(scope="session")
def shared_server(
    browser: Browser, set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedServer]:
    """One server for all tests that change no rows."""
    folder = tmp_path_factory.mktemp("shared-server")
    with ExitStack() as stack:
        # While it is set up alone: other tests of this process run in between, with settings of their own.
        with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER):
            copy = stores.create_store(folder, set_up_store)
            with copy.connected():
                browser_users.create_users()
                key = make_key()
            server = stack.enter_context(run_server(environment=build_environment(copy, folder), key=key))
            with copy.connected():
                rows = _rows(server)
        yield SharedServer(server, rows)
    with django_db_blocker.unblock():
        stores.drop_store(copy)


@pytest.fixture(scope="session")
def logged_in_admin(browser: Browser, shared_server: SharedServer) -> Iterator[BrowserUser]:
    """An admin who looks at every page."""
    with browser_users.open_browser(browser, shared_server.server.url) as person:
        yield person.log_in("admin")


@pytest.fixture
def admin(logged_in_admin: BrowserUser) -> BrowserUser:
    """The admin, whose tab forgets which parts of its pages were open."""
    logged_in_admin.forget_tab()
    return logged_in_admin


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A server with a user of each role."""
    browser_users.create_users()
    return serve()


@pytest.fixture
def log_in(browser: Browser, server: Server) -> Iterator[Callable[[str], BrowserUser]]:
    """Return a function that logs a user in and returns their browser."""
    came: list[BrowserUser] = []

    def person(name: str) -> BrowserUser:
        came.append(BrowserUser(browser, server.url))
        return came[-1].log_in(name)

    yield person
    for each in came:
        each.context.close()


@pytest.fixture(scope="session")
def take_picture(request: pytest.FixtureRequest) -> Callable[[BrowserUser, str], None]:
    """Return a function that writes a screenshot for the guides, if the run has --pictures."""

    def take(person: BrowserUser, name: str) -> None:
        if request.config.getoption("--pictures"):
            browser_users.IMAGES.mkdir(parents=True, exist_ok=True)
            person.page.screenshot(path=browser_users.IMAGES / f"{name}.png", animations="disabled", caret="hide")

    return take


def _rows(server: Server) -> dict[str, Any]:
    """Create at least one row of every model, and return one of each."""
    task = {"project_id": DEMO_PROJECT_ID, "title": "Call the printers"}
    assert server.exec("onto.task.create", task, idempotency_key="once").status_code == 200
    assert server.exec("onto.task.update", {"task_id": "the first"}).status_code == 400
    assert server.batch({"type": "help", "path": "root"}).status_code == 200
    eventually(lambda: OperationEvent.objects.count() >= 3, what="the events")
    at = timezone.now()
    runner.run_due_jobs(at=at)
    rollup_job.run_rollup(at)
    activity.load(at=at, days=7, turns_a_day=20)  # for reports to show
    switch_service.switch_off(kind="op", name="onto.task.move", reason="Its upstream is down.", by="admin", at=at)
    flag = Flag.objects.get_or_create(key=FlagKey.SURFACE)[0]
    Cohort.objects.get_or_create(flag=flag, name="pilot", defaults={"variant": "gateway", "percentage": 5})
    create_draft(at, hypothesis="<b>Fewer</b> failures")
    ModelPrice.objects.create(family="claude", dollars_per_million=3)
    Assignment.objects.create(flag=flag.key, variant="gateway", cohort="pilot", subject="demo-user", time=at)
    EventLoss.objects.create(time=at, count=3)
    UsedConfirmation.objects.create(digest="0" * 64, client=Client.objects.first(), op="onto.task.delete", used_at=at)
    TurnLabel.objects.create(turn="0" * 32, label="private", connection="crm", op="a.b", brought_at=at)
    PendingInput.objects.create(
        digest="0" * 64, client=Client.objects.first(), op="onto.task.delete", created_at=at, expires_at=at
    )
    create_remote_rows(at)
    user, key = User.objects.order_by("pk")[0], ApiKey.objects.order_by("pk")[0]
    ChatProfile.objects.create(user=user, subject="demo-user")
    SignedInApplication.objects.create(application=register_application(), user=user, key=key)
    ModelRun.objects.create(model="big", state="done", created_by="ana", results=[role_matrix.MODEL_RUN_RESULT])
    with override_settings(GATEWAY_SENDS_EMAIL=True):
        message = OutgoingMessage("review.asked", "<b>ana</b> asks for a review", "Please", "/admin/", "ana")
        outbox.notify(message, recipients=["<ben>@example.com"], at=at + timedelta(days=1))  # not sent meanwhile
    requests.ask_for_review(load_selection(), summary="1 op", comment="<b>See</b>", by="ana", at=at)
    ScheduledPublish.objects.create(
        version="0" * 64,
        summary="1 op",
        note="<b>Later</b>",
        publish_at=at + timedelta(days=1),
        created_by="ana",
        created_at=at,
    )
    EvalCase.objects.create(request="Remind me to call the printers", op="onto.task.create", tags=["terse"])
    SavedView.objects.create(
        name="<b>Failed</b>", page="report_ops", query="days=7", owner=user, is_shared=True, saved_at=at
    )
    OpEmbedding.objects.create(text_hash="0" * 64, text="List tasks", used_at=at)
    failure = AccessAttempt.objects.create(username="ana", ip_address="192.0.2.7", failures_since_start=3)
    AccessAttempt.objects.filter(pk=failure.pk).update(attempt_time=at + timedelta(days=1))  # not deleted meanwhile
    return role_matrix.pick_row_of_each_model()


def create_remote_rows(at: datetime) -> None:
    """Create a sign-in of an end user at a service, and a file that an op answered."""
    crm = Connection.objects.create(name="crm", kind="http", base_url="https://crm.example.com")
    UserGrant.objects.create(connection=crm, subject="demo-user", access_token="x")
    UserKey.objects.create(
        connection=crm,
        client=Client.objects.order_by("pk")[0],
        subject="demo-user",
        secret="x",
        entered_at=timezone.now(),
    )
    StoredFile.objects.create(
        client=Client.objects.order_by("pk")[0],
        name="invoice.csv",
        content_type="text/csv",
        content=b"a",
        size=1,
        created_at=at,
        expires_at=at + timedelta(days=1),
    )
