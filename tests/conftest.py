"""Fixtures of all tests: the live shipped catalog, the demo workspace, a client with a key."""

import gc
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from math import inf
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.test import override_settings
from hypothesis import settings as hypothesis_settings
from pytest_django.plugin import DjangoDbBlocker

from analytics.events import event_log, stored_contents
from analytics.experiments import planning
from analytics.rollout import assignment, exposures
from core import logs, overload
from core.background import write_behind
from gateway.access import api_keys, key_verification
from gateway.credentials import end_user_settings, token_endpoint
from gateway.data_flow import turn_labels
from gateway.jobs import late_jobs
from gateway.models import Client
from registry.catalog import cache, connections, model, switches
from registry.releases import unpublished
from tests.support.clients.api import EXAMPLE, Api
from tests.support.console.parsed_files import remember_parsed_files
from tests.support.cpu_budget import is_thorough
from tests.support.rows import catalog_fixture
from tests.support.rows.grouping import GroupScheduling
from tests.support.rows.migrated_rows import insert_rows_after_flush
from tests.support.run_folder import get_run_folder
from tests.support.servers import stores
from tests.support.upstreams import any_upstream

pytest_plugins = [
    "tests.support.background",
    "tests.support.servers.collector",
    "tests.support.upstreams.fake_internet",
    "tests.support.chat.fake_llm",
    "tests.support.chat.malformed_streams",
    *(["tests.support.chat.chat"] if apps.is_installed("chat") and apps.is_installed("workspace") else []),
    "tests.support.upstreams.http_upstream",
    "tests.support.upstreams.imported_service",
    "tests.support.upstreams.mcp_listing",
    "tests.support.upstreams.mcp_programs",
    "tests.support.upstreams.mcp_upstream",
    "tests.support.upstreams.two_hosts",
    "tests.support.upstreams.warm_extractor",
]

# Property tests have no deadline, because a busy machine is not a failure. tests.support.cpu_budget.examples scales the
# number of examples with the profile. `make test-all` uses the thorough one.
hypothesis_settings.register_profile("default", deadline=None, max_examples=100)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=1_000)
hypothesis_settings.load_profile("default")


BOTH_DATABASES = "both_databases"  # the mark of tests that run on PostgreSQL, too
SECONDS_KEY = "gateway/seconds"  # key of the tests' durations in pytest's cache
LONG_TEST_SECONDS = 1.0  # durations of longer tests are stored
SPREAD_UNTIL = 0.8  # share of the run in which tests that wait for processes begin

COLLECT_AFTER = (5_000, 10, 10)  # new objects, and collections of each generation before one of the next

_numbers = count(1)
_seconds: Counter[str] = Counter()

remember_parsed_files()  # before test modules are imported, some of which read the shipped catalog

gc.disable()  # until all tests are collected: that makes a million objects, and none of them is garbage


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option to take screenshots."""
    parser.addoption("--pictures", action="store_true", help="take the screenshots in docs/images again")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Spread tests that wait for processes among those that compute, so that no core is idle; long tests go first."""
    if not is_thorough():
        for item in items:
            mark = item.get_closest_marker("thorough")
            if mark and connection.vendor in (mark.args or [connection.vendor]):
                item.add_marker(pytest.mark.skip(reason="by design: only make test-all runs it"))
    known = config.cache.get(SECONDS_KEY, {})
    items.sort(key=lambda item: -known.get(item.nodeid, 0))
    waiting, computing = [], []
    for item in items:
        (waiting if _waits_for_processes(item) else computing).append(item)
    items[:] = _spread(waiting, computing)


def _waits_for_processes(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(mark) for mark in ("browser", "server"))


def _spread(few: list[pytest.Item], many: list[pytest.Item]) -> list[pytest.Item]:
    """Return both lists as one, with an item of `few` after every so many, and none of them in the last part."""
    distance = max(1, int(len(many) * SPREAD_UNTIL / max(1, len(few))))
    spread = [item for at, one in enumerate(few) for item in (one, *many[at * distance : (at + 1) * distance])]
    return spread + many[len(few) * distance :]


def pytest_collection_finish() -> None:
    """Turn the garbage collector on, without the objects that stay.

    It comes less often than by default, which takes 5 to 10% of the time of tests that render pages.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules without a test for both databases, if only those are to run: importing all takes a while."""
    is_left_out = (
        config.option.markexpr == BOTH_DATABASES
        and collection_path.match("test_*.py")
        and BOTH_DATABASES not in collection_path.read_text()
    )
    return True if is_left_out else None  # None: as pytest decides


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    """Keep tests that share an expensive setup in one worker."""
    return GroupScheduling(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the duration of each test. With xdist this runs in the controller."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Store the durations of long tests, for the order of the next run."""
    if hasattr(session.config, "workerinput") or not hasattr(session.config, "cache"):
        return
    long = {test: round(seconds, 1) for test, seconds in _seconds.items() if seconds >= LONG_TEST_SECONDS}
    known = session.config.cache.get(SECONDS_KEY, {})
    session.config.cache.set(SECONDS_KEY, {test: took for test, took in known.items() if test not in _seconds} | long)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many examples of the shipped ops ran and passed."""
    passed = terminalreporter.getreports("passed")
    ran = [value for report in passed for name, value in report.user_properties if name == EXAMPLE]
    if ran:
        terminalreporter.write_line(f"{len(ran)} examples of {len(set(ran))} ops ran against the demo workspace.")


@pytest.fixture(scope="session", autouse=True)
def _fast_password_hashing() -> Iterator[None]:
    """Hash passwords fast, because the real hash takes as long as twenty pages. It still verifies its own hashes."""
    fast = "django.contrib.auth.hashers.MD5PasswordHasher"
    with override_settings(PASSWORD_HASHERS=[fast, *settings.PASSWORD_HASHERS]):
        yield


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
    run_folder: Path,
) -> Iterator[None]:
    """Copy a migrated database, in place of pytest-django's, which runs all migrations in each test worker."""
    databases = ExitStack()
    with django_db_blocker.unblock():
        migrated = databases.enter_context(stores.share_migrated_store(run_folder))
        databases.enter_context(stores.use_test_database(migrated))
        databases.enter_context(insert_rows_after_flush())
    yield
    with django_db_blocker.unblock():
        databases.close()


@pytest.fixture(scope="session", autouse=True)
def _upstream_of_test_ops() -> None:
    """Connect the upstream that runs the ops that tests make, so that they can be published."""
    any_upstream.connect()


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder that all test workers of this run share."""
    return get_run_folder(tmp_path_factory, worker_id)


@pytest.fixture(scope="session", autouse=True)
def _rows_loaded_once(run_folder: Path) -> None:
    """Load the shipped catalog and the demo in one test worker for all."""
    catalog_fixture.share_rows(run_folder)


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch, run_folder: Path) -> Iterator[None]:
    """Clear everything that a test left in memory, as in a new process.

    Events are written only by event_log.flush(), because their thread would not see the test's transaction.
    """
    monkeypatch.setattr(write_behind, "_wake_thread", lambda: None)
    monkeypatch.setattr(settings, "GATEWAY_SPOOL_FOLDER", run_folder / "spool")
    monkeypatch.setattr(late_jobs, "_begun_at", time.monotonic())
    monkeypatch.setattr(late_jobs, "_next_check", inf)  # in tests, jobs run only where a test runs them
    cache.clear_cache()
    monkeypatch.setattr(unpublished, "_cached", None)  # rows of two tests can have the same ids and times
    switches.clear_switches()
    connections.clear_connections()
    end_user_settings.clear_settings()
    turn_labels.clear()
    assignment.clear_rollout()
    planning.clear_cache()
    stored_contents.clear_rules()
    key_verification.clear_cache()
    overload.clear_guards()
    token_endpoint.clear_tokens()
    logs.clear_context()
    ContentType.objects.clear_cache()
    yield
    # Discard what is not written: at the end of the process the test database no longer exists.
    event_log.discard_queued()
    exposures.clear()
    exposures.clear_subjects()


@pytest.fixture
def live_catalog(db: None) -> model.Catalog:
    """Publish the shipped catalog, load the demo workspace, and return the live catalog."""
    return catalog_fixture.serve_shipped_catalog()


@pytest.fixture
def make_key(db: None) -> Callable[..., str]:
    """Return a function that issues a key of a new client. Fields of the client and of the key are passed by name.

    The client asks its users for confirmation itself, like the demo's client, unless confirms=True.
    """
    client_fields = ("op_patterns", "subject_pattern", "confirms", "data_flow", "is_active")

    def make(**fields: Any) -> str:
        client_values = {"confirms": False} | {name: fields.pop(name) for name in client_fields if name in fields}
        client = Client.objects.create(name=f"client-{next(_numbers)}", **client_values)
        _, plaintext = api_keys.issue(client=client, by="tests", **{"rate": 10_000, **fields})
        return plaintext

    return make


@pytest.fixture
def api(live_catalog: model.Catalog, make_key: Callable[..., str]) -> Api:
    """Return a client of the API with all scopes that acts for the demo subject."""
    return Api(make_key())
