"""What tests of every kind share: the shipped catalog live, a demo workspace, a caller with a key."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.test import override_settings
from hypothesis import settings as hypothesis_settings

from analytics.events import event_log
from analytics.rollout import exposures, last_seen, rollout_cache
from gateway.clients import api_keys
from gateway.models import Client
from registry.catalog import model, switches
from tests.support import catalog_fixture
from tests.support.api import EXAMPLE, Api
from tests.support.grouping import GroupScheduling

pytest_plugins = ["tests.support.fake_internet"]

# Property tests take the time that the machine needs: a busy one is no failure. What a test looks at in each profile
# follows from tests.support.cpu_budget.examples. `make test-all` chooses the second one.
hypothesis_settings.register_profile("default", deadline=None, max_examples=100)
hypothesis_settings.register_profile("thorough", deadline=None, max_examples=1_000)
hypothesis_settings.load_profile("default")


SECONDS = "gateway/seconds"  # the place in pytest's cache of how long tests took
LONG = 1.0  # second: tests that take longer are remembered

_numbers = count(1)
_seconds: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let pictures be taken."""
    parser.addoption("--pictures", action="store_true", help="have the tests in a browser write docs/images anew")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run long tests first, so that no worker is left with one at the end; the others keep their random order."""
    known = config.cache.get(SECONDS, {})
    items.sort(key=lambda item: _place_in_order(item, known))


def _place_in_order(item: pytest.Item, known: dict[str, float]) -> tuple[int, float]:
    """Sort by kind (browser, processes, others), then by the last known seconds of those that take long."""
    kind = 0 if item.get_closest_marker("browser") else 1 if item.get_closest_marker("server") else 2
    return kind, -known.get(item.nodeid, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> GroupScheduling:
    """Keep tests in one worker that share what takes long to set up."""
    return GroupScheduling(config, log)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up how long each test takes. With xdist this happens in the process that hands out the tests."""
    _seconds[report.nodeid] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Remember which tests take long, for the order of the next run."""
    if hasattr(session.config, "workerinput") or not hasattr(session.config, "cache"):
        return
    long = {test: round(seconds, 1) for test, seconds in _seconds.items() if seconds >= LONG}
    known = session.config.cache.get(SECONDS, {})
    session.config.cache.set(SECONDS, {test: took for test, took in known.items() if test not in _seconds} | long)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many examples of how many ops ran, and did what their op says."""
    passed = terminalreporter.getreports("passed")
    ran = [value for report in passed for name, value in report.user_properties if name == EXAMPLE]
    if ran:
        terminalreporter.write_line(f"{len(ran)} examples of {len(set(ran))} ops ran against the demo workspace.")


@pytest.fixture(scope="session", autouse=True)
def _passwords_hashed_fast() -> Iterator[None]:
    """The real hash takes as long as twenty pages; it is still known, for what it has hashed."""
    fast = "django.contrib.auth.hashers.MD5PasswordHasher"
    with override_settings(PASSWORD_HASHERS=[fast, *settings.PASSWORD_HASHERS]):
        yield


@pytest.fixture(autouse=True)
def _fresh_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing that one test left in memory is there in the next, as in a new process.

    Events wait for events.flush(): their thread has a connection of its own, which does not see a test's transaction.
    """
    monkeypatch.setattr(event_log._buffer, "_start_thread", lambda: None)
    model.clear_cache()
    switches.clear_switches()
    rollout_cache.clear()
    api_keys.clear_cache()
    ContentType.objects.clear_cache()
    yield
    # Unwritten: a process that ends would write it where no test database is any more.
    event_log.discard_queued()
    exposures.clear()
    last_seen.clear()


@pytest.fixture
def live_catalog(db: None) -> model.Catalog:
    """The shipped catalog, published and followed, beside the demo workspace."""
    return catalog_fixture.serve()


@pytest.fixture
def make_key(db: None) -> Callable[..., str]:
    """Make a key: client fields (op_patterns, subject_pattern, confirms, is_active) and key fields by name.

    The client asks its users by itself, as the demo's does, unless confirms=True.
    """
    of_client = ("op_patterns", "subject_pattern", "confirms", "is_active")

    def make(**fields: Any) -> str:
        ours = {"confirms": False} | {name: fields.pop(name) for name in of_client if name in fields}
        client = Client.objects.create(name=f"client-{next(_numbers)}", **ours)
        _, plaintext = api_keys.issue(client=client, by="tests", **{"rate": 10_000, **fields})
        return plaintext

    return make


@pytest.fixture
def api(live_catalog: model.Catalog, make_key: Callable[..., str]) -> Api:
    """A chat service with all scopes, acting for the demo subject."""
    return Api(make_key())
