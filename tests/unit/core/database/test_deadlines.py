import sqlite3
import threading
import time
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, transaction

from core.database import deadlines
from core.database.deadlines import Deadline, DeadlineExceeded

pytestmark = pytest.mark.both_databases

on_postgres = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="by design: PostgreSQL cancels statements")
on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="by design: SQLite has one write lock")


def run_query_with_deadline(sql: str, deadline: Deadline) -> None:
    with transaction.atomic():
        deadlines.limit_statement_time(deadline)
        run_query(sql)


def run_query(sql: str = "SELECT 1") -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def test_remaining_time_counts_down_and_then_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = Deadline.after(milliseconds=1500)

    for waited, remaining in ((0, 1500), (1.0, 500), (1.4999, 1)):
        monkeypatch.setattr(deadlines.time, "monotonic", lambda waited=waited: deadline.at - 1.5 + waited)
        assert deadline.get_remaining_ms() == pytest.approx(remaining, abs=1)
    monkeypatch.setattr(deadlines.time, "monotonic", lambda: deadline.at)
    with pytest.raises(DeadlineExceeded):
        deadline.get_remaining_ms()


@pytest.mark.django_db
def test_enforce_refuses_queries_after_the_deadline() -> None:
    deadline = Deadline.after(milliseconds=60_000)
    with deadline.enforce():
        assert run_query() == 1

    past_deadline = Deadline(at=time.monotonic() - 1)
    with past_deadline.enforce(), pytest.raises(DeadlineExceeded):
        run_query()
    assert run_query() == 1  # only inside the block


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_statement_limit_cancels_a_running_statement() -> None:
    start = time.monotonic()
    with pytest.raises(OperationalError, match="statement timeout"):
        run_query_with_deadline("SELECT pg_sleep(30)", Deadline.after(milliseconds=200))

    assert time.monotonic() - start < 10
    assert run_query("SHOW statement_timeout") == "30s"  # only for that transaction


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_statement_limit_limits_the_wait_for_a_lock() -> None:
    locked, done = threading.Event(), threading.Event()

    def hold_lock() -> None:
        with transaction.atomic():
            run_query("SELECT pg_advisory_xact_lock(4711)::text")
            locked.set()
            done.wait(20)
        connection.close()

    holder = threading.Thread(target=hold_lock)
    holder.start()
    try:
        assert locked.wait(10)
        with pytest.raises(OperationalError, match="lock timeout"):
            run_query_with_deadline("SELECT pg_advisory_xact_lock(4711)::text", Deadline.after(milliseconds=200))
    finally:
        done.set()
        holder.join()


@on_sqlite
@pytest.mark.django_db(transaction=True)
def test_wait_for_the_write_lock_is_limited_on_sqlite() -> None:
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        start = time.monotonic()
        with (
            Deadline.after(milliseconds=200).limit_waits(),
            pytest.raises(OperationalError, match="locked"),
            transaction.atomic(),
        ):
            pass
        assert time.monotonic() - start < 10  # the connection's own timeout is 20 s
    finally:
        other.close()
        connection.close()


@on_sqlite
@pytest.mark.django_db
def test_statement_limit_does_nothing_on_sqlite() -> None:
    deadlines.limit_statement_time(Deadline(at=0.0))

    assert run_query() == 1


@on_sqlite
@pytest.mark.django_db(transaction=True)
def test_writer_that_has_waited_for_long_tries_as_often_as_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own handler waits longer after each try, up to 100 ms: then newcomers take the lock first."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    pauses: list[float] = []

    def release_after_a_hundred_tries(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 100:
            other.execute("COMMIT")
        time.sleep(seconds)

    clock = SimpleNamespace(sleep=release_after_a_hundred_tries, monotonic=time.monotonic)
    monkeypatch.setattr("core.database.connections.time", clock)
    try:
        other.execute("BEGIN IMMEDIATE")
        with Deadline.after(milliseconds=60_000).limit_waits(), transaction.atomic():
            run_query()
    finally:
        other.close()
        connection.close()
    assert len(pauses) == 100
    assert max(pauses) <= 0.003


@on_sqlite
@pytest.mark.django_db(transaction=True)
def test_only_one_thread_of_a_process_tries_to_take_the_write_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each try costs time of the process, which the thread that holds the lock may need to end."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None, check_same_thread=False)
    all_wait = threading.Barrier(4 + 1)
    tries: list[int] = []

    def release_after_a_hundred_tries(_: float) -> None:
        if not tries:
            all_wait.wait(20)
        tries.append(threading.get_ident())
        if len(tries) == 100:
            other.execute("COMMIT")

    def write(*, is_first: bool = False) -> None:
        if not is_first:
            all_wait.wait(20)
        with transaction.atomic():
            run_query()
        connection.close()

    clock = SimpleNamespace(sleep=release_after_a_hundred_tries, monotonic=time.monotonic)
    monkeypatch.setattr("core.database.connections.time", clock)
    try:
        other.execute("BEGIN IMMEDIATE")
        threads = [threading.Thread(target=write, kwargs={"is_first": n == 0}) for n in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        other.close()
        connection.close()
    assert len(set(tries[:100])) == 1


@pytest.mark.django_db
def test_wait_after_the_deadline_is_refused() -> None:
    with pytest.raises(DeadlineExceeded), Deadline(at=0.0).limit_waits():
        run_query()
