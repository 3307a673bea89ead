import threading

import pytest

from core.background import poller


def test_work_is_repeated_until_the_block_ends_although_it_fails(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)  # nothing here needs the database
    calls: list[str] = []
    is_third = threading.Event()

    def work() -> None:
        calls.append(threading.current_thread().name)
        if len(calls) == 3:
            is_third.set()
        raise ConnectionError("the database is away")

    with poller.repeat_meanwhile("beat", work, seconds=0.001):
        assert is_third.wait(20)

    assert set(calls) == {"beat"}
    assert "background.failed name=beat" in caplog.text
    assert "beat" not in {thread.name for thread in threading.enumerate()}


def test_short_work_has_no_repetition() -> None:
    with poller.repeat_meanwhile("beat", lambda: pytest.fail("too early"), seconds=60):
        pass
