"""Threads that refresh what a process holds in memory: when they read it again, and what they do not wait for."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, close_old_connections, connection

from core import manifest
from core.background import poller
from core.manifest import Manifest, PollerThread
from tests.support.servers.processes import eventually

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
    declared = Manifest(refreshed=[run_first], polled={PollerThread.MEMORY: [fail], PollerThread.UPKEEP: [run_last]})
    monkeypatch.setattr(manifest, "_collected", declared)
    # Closing the test's connection would lose its transaction.
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    monkeypatch.setattr(poller, "_failing", set())
    monkeypatch.setattr(poller, "_version", None)
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


def test_start_polls_at_once_and_starts_each_thread_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "_started_pids", set())
    monkeypatch.setattr(poller.watch, "start_watching", lambda: None)
    started: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))

    poller.start()
    poller.start()

    assert calls == ["first", "broken", "last"]
    assert [thread.name for thread in started] == ["poller-memory", "poller-releases", "poller-upkeep"]
    assert all(thread.daemon for thread in started)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_start_returns_its_connection_to_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that starts a web process runs its event loop next, and would keep one connection for ever."""
    if connection.vendor == "sqlite":
        pytest.skip("by design: SQLite has a connection for each thread")
    monkeypatch.setattr(poller, "close_old_connections", close_old_connections)
    was_connected = []

    def take_connection() -> None:
        connection.ensure_connection()
        was_connected.append(connection.connection is not None)

    monkeypatch.setattr(manifest, "_collected", Manifest(refreshed=[take_connection]))
    monkeypatch.setattr(poller, "_started_pids", set())
    monkeypatch.setattr(poller.watch, "start_watching", lambda: None)

    poller.start(names=[])

    assert was_connected == [True]
    assert connection.connection is None


@pytest.fixture
def versions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The state version that each next poll reads."""
    versions: list[Any] = []
    monkeypatch.setattr(poller.state_version, "read", lambda: versions.pop(0))
    monkeypatch.setattr(poller.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(manifest, "_collected", Manifest(refreshed=[run_first, run_last]))
    return versions


def count_refreshes(versions: list[Any], *read: int | None) -> list[int]:
    """Poll once for each version, and return how many functions each poll called."""
    counts = []
    versions.extend(read)
    for _ in read:
        calls.clear()
        poller.poll(PollerThread.MEMORY)
        counts.append(len(calls))
    return counts


def test_memory_is_read_again_when_the_version_has_changed(versions: list[Any]) -> None:
    assert count_refreshes(versions, 7, 7, 8, 8, 7) == [2, 0, 2, 0, 2]


def test_memory_is_read_again_after_some_time(versions: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_refreshes(versions, 7, 7) == [2, 0]

    monkeypatch.setattr(poller.time, "monotonic", lambda: 100.0 + poller.MAX_AGE)

    assert count_refreshes(versions, 7, 7) == [2, 0]


def test_memory_is_read_again_until_every_function_has_worked(
    versions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(manifest, "_collected", Manifest(refreshed=[fail, run_last]))
        assert count_refreshes(versions, 7, 7) == [2, 2]

    assert count_refreshes(versions, 7, 7) == [2, 0]


def test_memory_is_read_at_each_poll_while_the_version_cannot_be_read(
    versions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> int:
        raise OperationalError("no such table: core_state_version")

    assert count_refreshes(versions, 7) == [2]
    with monkeypatch.context() as patch:
        patch.setattr(poller.state_version, "read", refuse)
        assert count_refreshes(versions, 7, 7) == [2, 2]
        assert poller.is_failing()
    versions.clear()

    assert count_refreshes(versions, 7, 7) == [2, 0]
    assert not poller.is_failing()


def test_memory_is_read_at_each_poll_while_there_is_no_version(versions: list[Any]) -> None:
    assert count_refreshes(versions, None, None, 7, 7) == [2, 2, 2, 0]


@contextmanager
def running_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(poller, "INTERVAL", 0.001)
    monkeypatch.setattr(poller.state_version, "read", lambda: len(calls))
    end = threading.Event()
    threads = [threading.Thread(target=poller._run_loop, args=[name, end]) for name in PollerThread]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("slow", [PollerThread.RELEASES, PollerThread.UPKEEP])
def test_memory_is_refreshed_while_another_thread_waits(slow: PollerThread, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, go_on = threading.Event(), threading.Event()
    wait: Callable[[], object] = lambda: (waits.set(), go_on.wait(60))  # noqa: E731 - the poller names functions
    monkeypatch.setattr(manifest, "_collected", Manifest(refreshed=[run_first], polled={slow: [wait]}))

    with running_threads(monkeypatch):
        try:
            assert waits.wait(60)
            before = len(calls)
            eventually(lambda: len(calls) >= before + 3, within=60, what="refreshes")
        finally:
            go_on.set()


def test_release_is_loaded_as_soon_as_memory_was_refreshed(monkeypatch: pytest.MonkeyPatch) -> None:
    has_loaded, end = threading.Event(), threading.Event()
    declared = Manifest(refreshed=[run_first], polled={PollerThread.RELEASES: [has_loaded.set]})
    monkeypatch.setattr(manifest, "_collected", declared)
    monkeypatch.setattr(poller.state_version, "read", lambda: 7)
    monkeypatch.setattr(poller, "INTERVAL", 60.0)  # would be too long
    thread = threading.Thread(target=poller._run_loop, args=[PollerThread.RELEASES, end])
    thread.start()
    try:
        poller.poll(PollerThread.MEMORY)
        assert has_loaded.wait(30)
    finally:
        end.set()
        poller._has_refreshed.set()
        thread.join()


def test_work_in_the_background_only_logs_that_its_connection_cannot_be_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def work() -> None:
        calls.append("work")
        monkeypatch.setattr(poller, "close_old_connections", fail)

    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    calls.clear()

    poller.run_in_background("import", work).join()

    assert calls == ["work", "broken"]
    assert "background.failed name=import" in caplog.text
