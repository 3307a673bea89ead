from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, current_thread
from typing import Any

import pytest
from celery import current_app

from core.background import task_queue


@pytest.fixture
def ran() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Register a task, and collect the threads and arguments of its runs. It fails for `fails=True`."""
    runs: list[tuple[str, dict[str, Any]]] = []

    def run(fails: bool = False, done: Event | None = None, **arguments: Any) -> None:
        runs.append((current_thread().name, arguments))
        if done is not None:
            done.set()
        if fails:
            raise ValueError("on purpose")

    current_app.task(name="tests.run")(run)
    yield runs
    current_app.tasks.unregister("tests.run")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadPoolExecutor]:
    """One thread that runs tasks."""
    with ThreadPoolExecutor(1, thread_name_prefix="tasks") as executor:
        monkeypatch.setattr(task_queue, "_threads", executor)
        yield executor


def test_task_runs_in_a_thread_of_the_process_without_a_broker(
    ran: list[Any], threads: ThreadPoolExecutor, caplog: pytest.LogCaptureFixture
) -> None:
    done = Event()
    task_queue.send("tests.run", kwargs={"fails": True, "number": 1})
    task_queue.send("tests.run", kwargs={"done": done, "number": 2})

    assert done.wait(10)
    assert ran == [("tasks_0", {"number": 1}), ("tasks_0", {"number": 2})]
    assert "task.failed name=tests.run" in caplog.text


def test_task_is_dropped_by_a_process_without_threads_and_one_that_ends(
    ran: list[Any], threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads.shutdown()
    task_queue.send("tests.run")
    monkeypatch.setattr(task_queue, "_threads", None)
    task_queue.send("tests.run")

    assert ran == []


def test_task_goes_to_the_broker_if_there_is_one(
    ran: list[Any], threads: ThreadPoolExecutor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMBEDDED_BROKER = False
    sent = []
    monkeypatch.setattr(current_app, "send_task", lambda name, **options: sent.append((name, options)))

    task_queue.send("tests.run", kwargs={"number": 1})

    assert sent == [("tests.run", {"kwargs": {"number": 1}, "retry": False, "ignore_result": True})]
    assert ran == []


def test_worker_runs_a_task_in_several_threads_at_the_same_time(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.EMBEDDED_BROKER = False
    names = []
    all_run = Barrier(3, timeout=10)

    def run() -> None:
        names.append(current_thread().name)
        all_run.wait()

    with ThreadPoolExecutor(3, thread_name_prefix="tasks") as executor:
        monkeypatch.setattr(task_queue, "_threads", executor)
        task_queue.run_in_threads(run, 3)

    assert sorted(names) == ["tasks_0", "tasks_1", "tasks_2"]


def test_task_of_a_process_without_a_broker_runs_in_its_own_thread(threads: ThreadPoolExecutor) -> None:
    names: list[str] = []

    task_queue.run_in_threads(lambda: names.append(current_thread().name), 3)

    assert names == [current_thread().name]
