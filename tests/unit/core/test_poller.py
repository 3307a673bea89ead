import logging
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from core import poller

called: list[str] = []


def first() -> None:
    called.append("first")


def broken() -> None:
    called.append("broken")
    raise ConnectionError("the database is away")


def last() -> None:
    called.append("last")


@pytest.fixture(autouse=True)
def _follows(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATEWAY_FOLLOWS = [f"{__name__}.{name}" for name in ("first", "broken", "last")]
    # A test's connection is in a transaction that closing would lose.
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    monkeypatch.setattr(poller, "_failing_paths", set())
    called.clear()


def test_poll_calls_every_follow_in_order_also_after_one_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "core.poller"):
        poller.refresh()

    assert called == ["first", "broken", "last"]
    [told] = caplog.records
    assert told.getMessage() == f"poller.failed function={__name__}.broken retry_seconds=0.5"
    assert told.exc_info
    assert told.exc_info[0] is ConnectionError


def test_a_failing_follow_is_tried_again_and_told_when_it_begins_and_ends(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "core.poller")
    for _ in range(3):
        poller.refresh()
    monkeypatch.setattr(f"{__name__}.broken", lambda: called.append("mended"))
    for _ in range(2):
        poller.refresh()

    assert (called.count("broken"), called.count("mended")) == (3, 2)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", f"poller.failed function={__name__}.broken retry_seconds=0.5"),
        ("INFO", f"poller.recovered function={__name__}.broken"),
    ]


def test_start_polls_and_follows_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poller, "_started_pids", set())
    started: list[threading.Thread] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread))

    poller.start()
    poller.start()

    assert called == ["first", "broken", "last"]
    assert [(thread.name, thread.daemon) for thread in started] == [("follower", True)]


def test_the_thread_polls_every_half_second(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    class Pause:
        """Lets three polls through and then says stop."""

        def wait(self, seconds: float) -> bool:
            waits.append(seconds)
            return len(waits) > 3

    monkeypatch.setattr(poller, "refresh", lambda: called.append("poll"))
    monkeypatch.setattr(poller, "threading", SimpleNamespace(Event=Pause))

    poller._run_loop()

    assert called == ["poll"] * 3
    assert waits == [0.5] * 4
