"""Connections to PostgreSQL and SQLite: timeouts, prepared statements and the pool.

PostgreSQL ends a slow statement itself (`statement_timeout`). A server that is paused, or behind a network that
swallows packets, ends nothing: it keeps the connection and sends nothing. So the client has a limit as well. It is a
second longer than the server's, whose error says more.

A call that reads sends the same few statements again and again. PostgreSQL keeps them prepared: a read then takes it
half the time. The parameters are sent beside such a statement. Others have them in their text, because not all SQL can
do without, and because a plan for all parameters may be a bad one for a report.

SQLite's own handler tries less and less often: up to 100 ms apart. Under load, newcomers take the lock in between, and
an early waiter may see its deadline pass. So we try ourselves, often. Only one thread of a process does: each try takes
time of the process, which the writer that all wait for may need to end.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import psycopg
from django.conf import settings
from django.db import OperationalError, close_old_connections, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import ServerBindingCursor
from django.db.backends.signals import connection_created
from psycopg.abc import PQGen
from psycopg.rows import Row

from core.database.deadlines import get_wait_until

T = TypeVar("T")
log = logging.getLogger(__name__)
GRACE_SECONDS = 1.0
PREPARE_AFTER = 5  # runs of a statement on a connection
PAUSE_SECONDS = (0.001, 0.003)  # between two tries; random, so that waiters do not keep in step
BEGIN = "BEGIN IMMEDIATE"
WRITES = ("UPDATE ", "INSERT ", "DELETE ")  # which take the lock themselves outside a transaction
_prepares: ContextVar[bool] = ContextVar("prepares", default=False)
_line = threading.Lock()  # of the threads of this process that wait; its holder tries


class prepare_statements:  # noqa: N801 - a context manager, as limit_waits
    """Let PostgreSQL keep the statements that are run often. Their SQL gives a type to parameters that have none."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _prepares.set(True)

    def __exit__(self, *_: object) -> None:
        _prepares.reset(self._token)


class LimitedConnection(psycopg.Connection[Row]):
    """A connection that closes and raises OperationalError if the server does not respond in time.

    It does the same if the type of a column has changed since a statement was prepared, as the server then refuses it.
    """

    default_seconds = 30.0  # the settings put their statement timeout here

    def set_autocommit(self, value: bool) -> None:
        if value != self.autocommit:  # Django sets it each time it takes a connection from the pool
            super().set_autocommit(value)

    def cursor(self, name: str = "", **options: Any) -> Any:
        if name or not _prepares.get():
            self.prepare_threshold = None  # psycopg would remember the text of each statement, with all its values
            return super().cursor(name, **options)
        self.prepare_threshold = PREPARE_AFTER
        return ServerBindingCursor(self, row_factory=self.row_factory)  # type: ignore[call-arg]

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(gen, interval, self._get_limit() if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # not the server's: the connection was lost, or an answer may still come
                self.pgconn.finish()
            raise
        except psycopg.errors.FeatureNotSupported as error:
            if not _prepares.get():
                raise
            self.pgconn.finish()
            raise psycopg.OperationalError(str(error)) from error

    def _get_limit(self) -> float:
        until = get_wait_until()
        left = self.default_seconds if until is None else max(0.0, until - time.monotonic())
        return left + GRACE_SECONDS


def install_waiting() -> None:
    """Let each new connection to SQLite wait for the write lock. With PostgreSQL, each call takes one from the pool."""
    if connection.vendor == "sqlite":
        connection_created.connect(_wait_fairly_for_locks)


def _wait_fairly_for_locks(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    if _wait_for_lock not in connection.execute_wrappers:
        # Before all others: a context manager that is open now removes the last one.
        connection.execute_wrappers.insert(0, _wait_for_lock)


def _wait_for_lock(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """Run a statement that takes the write lock, and try again until the deadline while another connection has it."""
    takes_lock = sql == BEGIN or (sql.startswith(WRITES) and not context["connection"].in_atomic_block)
    if not takes_lock:
        return execute(sql, params, many, context)
    inner = context["connection"].connection
    default_seconds = settings.DATABASES["default"]["OPTIONS"]["timeout"]
    until = get_wait_until() or time.monotonic() + default_seconds
    inner.execute("PRAGMA busy_timeout=0")
    is_first = _line.acquire(timeout=max(0.0, until - time.monotonic()))
    try:
        while True:
            try:
                return execute(sql, params, many, context)
            except OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= until:
                    raise
            time.sleep(random.uniform(*PAUSE_SECONDS))
    finally:
        if is_first:
            _line.release()
        inner.execute(f"PRAGMA busy_timeout={int(default_seconds * 1000)}")


def can_keep_connection() -> bool:
    """Return whether this thread may keep its connection from one call to the next.

    To return it to the pool and to take one again costs a twentieth of a read. Not after an error, as the connection
    may be broken, and not while another thread waits for one.
    """
    if connection.errors_occurred:
        return False
    pool = getattr(connection, "pool", None)  # only PostgreSQL has one
    return pool is None or not pool.get_stats()["requests_waiting"]


def release_connection() -> None:
    """Return this thread's connection to the pool, or close it if it is broken. Logs what fails."""
    try:
        close_old_connections()
    except Exception:
        log.exception("database.return_failed")


@contextmanager
def return_connection() -> Iterator[None]:
    """Return this thread's connection to the pool, for as long as the thread waits for another server.

    Else as many slow calls as the pool has connections would stop all others. SQLite has no pool. Inside a transaction
    the connection is kept.
    """
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()  # the next query takes one again
    yield


@contextmanager
def return_connection_after() -> Iterator[None]:
    """Use a connection for a moment while the thread waits for another server, and return it to the pool again."""
    try:
        yield
    finally:
        with return_connection():
            pass
