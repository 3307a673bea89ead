import sqlite3
import threading
import time

import pytest
from django.db import OperationalError, connection, transaction

from core import deadlines
from core.deadlines import Deadline, DeadlineExceeded

pytestmark = pytest.mark.both_databases

on_postgres = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="by design: PostgreSQL cancels statements")
on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="by design: SQLite has one write lock")


def select_bounded(sql: str, deadline: Deadline) -> None:
    with transaction.atomic():
        deadlines.limit_statement_time(deadline)
        select(sql)


def select(sql: str = "SELECT 1") -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()[0]


def test_left_ms_counts_down_and_then_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    deadline = Deadline.after(milliseconds=1500)

    for waited, left in ((0, 1500), (1.0, 500), (1.4999, 1)):
        monkeypatch.setattr(deadlines.time, "monotonic", lambda waited=waited: deadline.at - 1.5 + waited)
        assert deadline.get_remaining_ms() == pytest.approx(left, abs=1)
    monkeypatch.setattr(deadlines.time, "monotonic", lambda: deadline.at)
    with pytest.raises(DeadlineExceeded):
        deadline.get_remaining_ms()


@pytest.mark.django_db
def test_enforced_refuses_a_query_that_begins_late() -> None:
    deadline = Deadline.after(milliseconds=60_000)
    with deadline.enforce():
        assert select() == 1

    late = Deadline(at=time.monotonic() - 1)
    with late.enforce(), pytest.raises(DeadlineExceeded):
        select()
    assert select() == 1  # and only inside


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_bound_statements_cancels_a_statement_under_way() -> None:
    began = time.monotonic()
    with pytest.raises(OperationalError, match="statement timeout"):
        select_bounded("SELECT pg_sleep(30)", Deadline.after(milliseconds=200))

    assert time.monotonic() - began < 10
    assert select("SHOW statement_timeout") == "30s"  # the transaction's alone


@on_postgres
@pytest.mark.django_db(transaction=True)
def test_bound_statements_bounds_the_wait_for_a_lock() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            select("SELECT pg_advisory_xact_lock(4711)::text")
            held.set()
            done.wait(20)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(10)
        with pytest.raises(OperationalError, match="lock timeout"):
            select_bounded("SELECT pg_advisory_xact_lock(4711)::text", Deadline.after(milliseconds=200))
    finally:
        done.set()
        holder.join()


@on_sqlite
@pytest.mark.django_db(transaction=True)
def test_wait_for_write_lock_is_bounded_on_sqlite() -> None:
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        deadlines.limit_write_lock_wait(Deadline.after(milliseconds=200))
        began = time.monotonic()
        with pytest.raises(OperationalError, match="locked"), transaction.atomic():
            pass
        assert time.monotonic() - began < 10  # the connection's own timeout is 20 s
    finally:
        other.close()
        connection.close()


@on_sqlite
@pytest.mark.django_db
def test_bound_statements_does_nothing_on_sqlite() -> None:
    deadlines.limit_statement_time(Deadline(at=0.0))

    assert select() == 1


@on_postgres
@pytest.mark.django_db
def test_wait_for_write_lock_does_nothing_on_postgres() -> None:
    deadlines.limit_write_lock_wait(Deadline(at=0.0))

    assert select() == 1
