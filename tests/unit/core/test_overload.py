"""A pause after three failures in a row."""

import pytest

from core import overload
from core.overload import FailurePause


def fail(pause: FailurePause, times: int) -> None:
    for _ in range(times):
        pause.count_failure("no answer in time")


def test_three_failures_in_a_row_begin_a_pause_which_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    pause = FailurePause("llm.fast")
    fail(pause, 2)
    assert not pause.is_active()

    fail(pause, 1)

    assert pause.is_active()
    assert caplog.messages == ["llm.fast.paused reason=no answer in time seconds=10"]


def test_an_answer_ends_the_row_of_failures() -> None:
    pause = FailurePause("llm.fast")
    fail(pause, 2)
    pause.count_success()
    fail(pause, 2)

    assert not pause.is_active()


def test_a_pause_ends_and_the_next_failure_begins_another(monkeypatch: pytest.MonkeyPatch) -> None:
    pause = FailurePause("llm.fast")
    monkeypatch.setattr(overload, "PAUSE_SECONDS", 0.0)
    fail(pause, 3)
    assert not pause.is_active()

    monkeypatch.setattr(overload, "PAUSE_SECONDS", 10.0)
    fail(pause, 1)
    assert pause.is_active()
    pause.clear()
    assert not pause.is_active()
