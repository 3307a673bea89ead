"""Threads that wait for other servers do not keep further calls waiting."""

import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from core.server import thread_pool
from core.server.thread_pool import ThreadPool, lend_thread
from tests.support.servers.processes import eventually

WITHIN = 30  # seconds; a busy machine takes its time


def wait_elsewhere(released: threading.Event, began: threading.Semaphore, *, lends: bool) -> Callable[[], None]:
    def work() -> None:
        began.release()
        if lends:
            with lend_thread():
                released.wait(WITHIN)
        else:
            released.wait(WITHIN)

    return work


def count_threads(name: str) -> int:
    return sum(thread.name.startswith(f"{name}-") for thread in threading.enumerate())


def test_calls_run_while_others_wait_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "PARK_SECONDS", 0.0)
    pool, released, began, done = ThreadPool("lender", 2), threading.Event(), threading.Semaphore(0), threading.Event()
    for _ in range(20):
        pool.submit("", wait_elsewhere(released, began, lends=True))
    for _ in range(20):
        assert began.acquire(timeout=WITHIN)

    pool.submit("", done.set)

    assert done.wait(WITHIN)
    assert count_threads("lender") <= 23
    released.set()
    for _ in range(100):  # each takes work once more, and the spare ones end
        ended = threading.Event()
        pool.submit("", ended.set)
        assert ended.wait(WITHIN)
    assert count_threads("lender") < 20


def test_calls_that_lend_nothing_keep_their_number() -> None:
    pool, released, began, done = ThreadPool("holder", 2), threading.Event(), threading.Semaphore(0), threading.Event()
    for _ in range(2):
        pool.submit("", wait_elsewhere(released, began, lends=False))
        assert began.acquire(timeout=WITHIN)

    pool.submit("", done.set)

    assert not done.wait(0.2)
    released.set()
    assert done.wait(WITHIN)
    assert count_threads("holder") == 2


def test_an_idle_thread_is_used_before_one_is_started() -> None:
    pool, released, began = ThreadPool("idler", 2), threading.Event(), threading.Semaphore(0)
    pool.submit("", wait_elsewhere(released, began, lends=True))
    assert began.acquire(timeout=WITHIN)

    assert count_threads("idler") == 2
    released.set()


def test_thread_that_was_one_too_many_joins_again() -> None:
    pool, idents = ThreadPool("parked", 1), []
    for _ in range(5):
        released, began, joined = threading.Event(), threading.Semaphore(0), threading.Event()
        pool.submit("", wait_elsewhere(released, began, lends=True))
        assert began.acquire(timeout=WITHIN)
        pool.submit("", joined.set)
        assert joined.wait(WITHIN)
        idents.append({thread.ident for thread in threading.enumerate() if thread.name.startswith("parked-")})
        released.set()
        eventually(lambda: pool._parked == 1, within=WITHIN, what="a parked thread")

    assert len(idents[0]) == 2
    assert idents == [idents[0]] * 5


def test_no_more_threads_are_started_than_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_pool, "MOST_LENT", 3)
    pool, released, began = ThreadPool("limited", 1), threading.Event(), threading.Semaphore(0)
    for _ in range(10):
        pool.submit("", wait_elsewhere(released, began, lends=True))
    for _ in range(4):
        assert began.acquire(timeout=WITHIN)

    assert not began.acquire(timeout=0.2)
    released.set()
    for _ in range(6):
        assert began.acquire(timeout=WITHIN)


@pytest.fixture
def only_connection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this process have one connection to PostgreSQL."""
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite has a connection for each thread")
    connection.close()
    connection.close_pool()
    monkeypatch.setitem(connection.settings_dict["OPTIONS"]["pool"], "max_size", 1)
    yield
    connection.close()
    connection.close_pool()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_thread_keeps_its_connection_for_a_call_that_begins_at_once(only_connection: None) -> None:
    pool, queued, kept = ThreadPool("keeper", 1), threading.Event(), []

    def begin() -> None:
        queued.wait(WITHIN)
        connection.ensure_connection()

    def work(*, fails: bool = False) -> None:
        kept.append(connection.connection is not None)
        connection.ensure_connection()
        connection.errors_occurred = fails

    pool.submit("", begin)
    pool.submit("", lambda: work(fails=True))
    pool.submit("", work)
    queued.set()

    eventually(lambda: len(kept) == 2, within=WITHIN)
    assert kept == [True, False]  # not after an error
    connection.ensure_connection()  # it was returned when no call came
    connection.close()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_busy_thread_gives_its_connection_to_one_that_waits(only_connection: None) -> None:
    pool, began = ThreadPool("busy", 1), threading.Event()
    stopped, ended = threading.Event(), threading.Event()

    def work() -> None:
        connection.ensure_connection()
        began.set()
        pool.submit("", ended.set if stopped.is_set() else work)

    pool.submit("", work)
    assert began.wait(WITHIN)
    try:
        connection.ensure_connection()  # fails after two seconds
        connection.close()
    finally:
        stopped.set()
        assert ended.wait(WITHIN)


@pytest.fixture
def _no_thread_interrupts() -> Iterator[None]:
    """Let a thread run until it waits for something."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(10)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("_no_thread_interrupts")
def test_thread_that_was_woken_for_a_call_of_another_returns_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that forgets its time limit then would keep the connection until the next call, maybe for hours."""
    returned: set[str] = set()
    monkeypatch.setattr(thread_pool, "release_connection", lambda: returned.add(threading.current_thread().name))
    pool = ThreadPool("pair", 2)
    eventually(lambda: returned >= {"pair-1", "pair-2"})  # both threads wait, with no time limit
    returned.clear()
    has_begun = threading.Event()

    def wake_the_other_and_take_its_call() -> None:
        assert has_begun.wait(WITHIN)
        time.sleep(thread_pool.KEEP_SECONDS / 3)  # the other thread has ended its call, and waits for the next
        pool.submit("", outlast_its_wait)

    def outlast_its_wait() -> None:
        until = time.monotonic() + 3 * thread_pool.KEEP_SECONDS
        while time.monotonic() < until:
            pass

    pool.submit("", wake_the_other_and_take_its_call)
    pool.submit("", has_begun.set)

    eventually(lambda: returned >= {"pair-1", "pair-2"})  # threads of other tests may be there as well
