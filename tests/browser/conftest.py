"""Servers with people of every role, and a browser for each person."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from django.test import override_settings
from django.utils import timezone
from playwright.sync_api import Browser, sync_playwright
from pytest_django.plugin import DjangoDbBlocker

from analytics.models import Assignment, Cohort, Flag, OperationEvent
from analytics.rollout.flags import FlagKey
from analytics.rollups import rollup_job
from gateway.demo import activity
from gateway.jobs import runner
from registry.drafts import switch_service
from tests.services.conftest import serve, set_up_store, store
from tests.support import browser_users, role_matrix
from tests.support.browser_users import Person
from tests.support.servers import stores
from tests.support.servers.environment import PEPPER, environment_of, make_key
from tests.support.servers.processes import Server, eventually, serving
from tests.support.servers.stores import Store
from workspace.demo import DEMO_PROJECT_ID

__all__ = ["serve", "set_up_store", "store"]  # fixtures


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, without a window."""
    path = browser_users.chromium()
    if not path:
        pytest.skip("Chromium was not found: install Debian's package chromium, or name one in CHROMIUM")
    # Playwright runs a loop in this thread, and Django would take each query for one from inside of it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=browser_users.FLAGS)
        yield running
        running.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


class LookedAt(NamedTuple):
    """A server whose pages are only looked at, and a row of every model by its label."""

    server: Server
    rows: dict[str, Any]


@pytest.fixture(scope="session")
def looked_at(
    browser: Browser, set_up_store: Store, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LookedAt]:
    """One server for all tests that change nothing."""
    folder = tmp_path_factory.mktemp("looked-at")
    with ExitStack() as stack:
        # While it is set up alone: other tests of this process run in between, with settings of their own.
        with django_db_blocker.unblock(), override_settings(GATEWAY_KEY_PEPPER=PEPPER):
            copy = stores.make(folder, set_up_store)
            with copy.reached():
                browser_users.make()
                key = make_key()
            server = stack.enter_context(serving(environment=environment_of(copy, folder), key=key))
            with copy.reached():
                rows = _rows(server)
        yield LookedAt(server, rows)
    with django_db_blocker.unblock():
        stores.drop(copy)


@pytest.fixture(scope="session")
def admin(browser: Browser, looked_at: LookedAt) -> Iterator[Person]:
    """An admin who looks at every page."""
    with browser_users.somebody(browser, looked_at.server.url) as person:
        yield person.log_in("admin")


@pytest.fixture
def served(serve: Callable[..., Server]) -> Server:
    """A server with somebody of each role."""
    browser_users.make()
    return serve()


@pytest.fixture
def come(browser: Browser, served: Server) -> Iterator[Callable[[str], Person]]:
    """Have somebody sit down and log in."""
    came: list[Person] = []

    def person(name: str) -> Person:
        came.append(Person(browser, served.url))
        return came[-1].log_in(name)

    yield person
    for each in came:
        each.context.close()


@pytest.fixture(scope="session")
def picture(request: pytest.FixtureRequest) -> Callable[[Person, str], None]:
    """Take a picture of what somebody sees for the guides, where the run is asked to."""

    def take(person: Person, name: str) -> None:
        if request.config.getoption("--pictures"):
            browser_users.IMAGES.mkdir(parents=True, exist_ok=True)
            person.page.screenshot(path=browser_users.IMAGES / f"{name}.png", animations="disabled", caret="hide")

    return take


def _rows(server: Server) -> dict[str, Any]:
    """Leave at least one row of every model, and return one of each."""
    task = {"project_id": DEMO_PROJECT_ID, "title": "Call the printers"}
    assert server.exec("onto.task.create", task, idempotency_key="once").status_code == 200
    assert server.exec("onto.task.update", {"task_id": "the first"}).status_code == 400
    assert server.batch({"type": "help", "path": "root"}).status_code == 200
    eventually(lambda: OperationEvent.objects.count() >= 3, within=5, what="the events")
    at = timezone.now()
    runner.run_due_jobs(at=at)
    rollup_job.run(at)
    activity.load(at=at, days=7, turns_a_day=20)  # for reports to show
    switch_service.switch_off(kind="op", name="onto.task.move", reason="Its upstream is down.", by="admin", at=at)
    flag = Flag.objects.get_or_create(key=FlagKey.SURFACE)[0]
    Cohort.objects.get_or_create(flag=flag, name="pilot", defaults={"variant": "gateway", "percentage": 5})
    Assignment.objects.create(flag=flag.key, variant="gateway", cohort="pilot", subject="demo-user", time=at)
    return role_matrix.one_of_each()
