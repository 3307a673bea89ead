import logging
import threading

import pytest

from core import manifest
from core.background import poller
from core.manifest import Manifest

calls: list[str] = []


def run_first() -> None:
    calls.append("first")


def fail() -> None:
    calls.append("broken")
    raise ConnectionError("the database is away")


def run_last() -> None:
    calls.append("last")


@pytest.fixture(autouse=True)
def _functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_collected", Manifest(polled=[run_first, fail, run_last]))
    # Closing the test's connection would lose its transaction.
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    monkeypatch.setattr(poller, "_failing", set())
    calls.clear()


def test_refresh_calls_every_function_in_order_also_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "core.background.poller"):
        poller.refresh()

    assert calls == ["first", "broken", "last"]
    [record] = caplog.records
    assert record.getMessage() == f"poller.failed function={__name__}.fail retry_seconds=0.5"
    assert record.exc_info
    assert record.exc_info[0] is ConnectionError


def test_failing_function_is_retried_and_logged_at_start_and_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "core.background.poller")
    for _ in range(3):
        poller.refresh()
    monkeypatch.setattr(fail, "__code__", (lambda: calls.append("repaired")).__code__)
    for _ in range(2):
        poller.refresh()

    assert (calls.count("broken"), calls.count("repaired")) == (3, 2)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"poller.failed function={__name__}.fail retry_seconds=0.5"),
        ("INFO", f"poller.recovered function={__name__}.fail"),
    ]


def test_start_polls_at_once_and_starts_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "_started_pids", set())
    monkeypatch.setattr(poller.watch, "start_watching", lambda: None)
    started: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))

    poller.start()
    poller.start()

    assert calls == ["first", "broken", "last"]
    assert [(thread.name, thread.daemon) for thread in started] == [("poller", True)]
