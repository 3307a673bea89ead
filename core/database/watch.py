"""A thread in each process that asks twice a second whether PostgreSQL answers, and what its errors mean.

A database that is paused, or behind a network that swallows packets, keeps its connections but sends nothing. No error
reports this. SQLite is a file in this machine and is not watched.
"""

import logging
import os
import threading
import time

import psycopg
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from core.database.connections import GRACE_SECONDS, LimitedConnection
from core.database.deadlines import limit_waits

log = logging.getLogger(__name__)
INTERVAL_SECONDS = 0.5
PATIENCE_SECONDS = 1.5  # for one answer
CONNECT_SECONDS = 2

# Of PostgreSQL: undefined table, undefined column.
_SCHEMA_STATES = ("42P01", "42703")
_SCHEMA_MESSAGES = ("no such table", "no such column", "has no column named")  # of SQLite
NOT_MIGRATED = "The database lacks tables or columns of this version. Run: python manage.py migrate"


class _Watch:
    """What one process knows of its database."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid  # of the process in which the thread runs: a fork has no threads
        self._unanswered_since: float | None = None  # the first question without an answer, on the monotonic clock
        self._has_failed = False
        self._connection: LimitedConnection | None = None

    def get_silent_seconds(self) -> float:
        since = self._unanswered_since
        return 0.0 if since is None else time.monotonic() - since

    def is_answering(self) -> bool:
        return not self._has_failed and self.get_silent_seconds() <= PATIENCE_SECONDS

    def run_loop(self, first_is_over: threading.Event) -> None:
        while True:
            self._ask_and_log()
            first_is_over.set()
            time.sleep(INTERVAL_SECONDS)

    def _ask_and_log(self) -> None:
        """Ask once. Logs when answers stop and when they are back."""
        if self._unanswered_since is None:
            self._unanswered_since = time.monotonic()
        try:
            self._ask()
        except (psycopg.Error, OSError) as error:
            self._close()
            if not self._has_failed:
                log.warning("database.unreachable reason=%r retry_seconds=%s", _describe(error), INTERVAL_SECONDS)
            self._has_failed = True
        else:
            if self._has_failed:
                log.info("database.recovered seconds=%.1f", self.get_silent_seconds())
            self._has_failed, self._unanswered_since = False, None

    def _ask(self) -> None:
        if self._connection is None:
            self._connection = _connect()
        with limit_waits(time.monotonic() + PATIENCE_SECONDS - GRACE_SECONDS):
            self._connection.execute("SELECT 1")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


_watch = _Watch(pid=None)


def start_watching() -> None:
    """Start the thread and wait for its first answer, but not for long. No-op if it runs, and on other databases."""
    global _watch
    if connection.vendor != "postgresql" or _watch.pid == os.getpid():
        return
    _watch = _Watch(os.getpid())
    first_is_over = threading.Event()
    threading.Thread(target=_watch.run_loop, args=[first_is_over], name="database-watch", daemon=True).start()
    first_is_over.wait(CONNECT_SECONDS + PATIENCE_SECONDS)


def is_answering() -> bool:
    """Return whether the database answered the last question in time. True if nobody watches."""
    return _watch.is_answering()


def find_reason() -> str | None:
    """Return why no connection to PostgreSQL can be made, which its pool does not report; None if one can be made."""
    if connection.vendor != "postgresql":
        return None
    try:
        _connect().close()
    except (psycopg.Error, OSError) as error:
        return _describe(error)
    return None


def _connect() -> LimitedConnection:
    options = {"autocommit": True, "connect_timeout": CONNECT_SECONDS, "application_name": "database-watch"}
    return LimitedConnection.connect(**connection.get_connection_params() | options)


def _describe(error: Exception) -> str:
    """Return the first line of an error, which names the server but no password."""
    return str(error).strip().partition("\n")[0]


def is_schema_missing(error: BaseException | None) -> bool:
    """Return whether a query failed because migrations have not run."""
    if not isinstance(error, DatabaseError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state in _SCHEMA_STATES or str(error).startswith(_SCHEMA_MESSAGES) or _SCHEMA_MESSAGES[2] in str(error)


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether a query failed because the database cannot be reached or cannot work at the moment."""
    return isinstance(error, OperationalError | InterfaceError) and not is_schema_missing(error)
