"""Threads of turns."""

import threading
from collections.abc import Iterator

import pytest
from django.db import connection

from chat import threads
from chat.threads import start_thread
from tests.support.servers.processes import eventually


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[threads._TurnThread]]:
    """Begin without idle threads, and end those of the test."""
    idle: list[threads._TurnThread] = []
    monkeypatch.setattr(threads, "_idle", idle)
    yield idle
    monkeypatch.setattr(threads, "MAX_IDLE", 0)
    for thread in list(idle):
        thread.give(lambda: None, "last")
        thread.join(20)


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="by design: PostgreSQL has a pool")
@pytest.mark.django_db(transaction=True)
def test_next_turn_has_the_thread_of_the_last_one_and_its_connection(idle: list[threads._TurnThread]) -> None:
    seen: list[object] = []

    def run() -> None:
        connection.ensure_connection()
        seen.append((threading.get_ident(), connection.connection))

    for number in range(3):
        start_thread(run, name=f"turn-{number}")
        eventually(lambda: len(idle) == 1, within=20, what="the end of a turn")

    assert len(seen) == 3
    assert len(set(seen)) == 1


def test_only_a_few_threads_stay(monkeypatch: pytest.MonkeyPatch, idle: list[threads._TurnThread]) -> None:
    monkeypatch.setattr(threads, "MAX_IDLE", 2)
    all_run = threading.Barrier(5)
    before = count_turn_threads()

    def wait_for_others() -> None:
        all_run.wait(20)

    for number in range(5):
        start_thread(wait_for_others, name=f"turn-{number}")

    eventually(
        lambda: len(idle) == 2 and count_turn_threads() == before + 2, within=20, what="the end of three threads"
    )


def count_turn_threads() -> int:
    """Return how many threads of turns there are. Other threads of this process come and go."""
    return sum(isinstance(each, threads._TurnThread) for each in threading.enumerate())
