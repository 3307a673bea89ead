"""Threads that refresh a process's memory from the database, and work that outlives a request.

Every half second it calls the functions that the manifests declare. Each reads its rows and
swaps one reference. So all processes agree within two seconds without talking to each other.

Work that must not get lost is a row in the database first; the thread only processes it.

The SQL of polled queries is built once: building it takes ten times as long as running it, and an idle process does
nothing else.
"""

import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, close_old_connections, connection
from django.db.models import QuerySet

from core import logs, manifest
from core.database import watch
from core.database.watch import NOT_MIGRATED, is_schema_missing

log = logging.getLogger(__name__)
INTERVAL = 0.5  # seconds
PollFunction = Callable[[], object]
_started_pids: set[int] = set()  # process ids: a fork must start its own thread
_failing: set[str] = set()  # names of functions; a failure is logged when it begins and when it ends, not at each poll
_lock = threading.Lock()
Row = tuple[Any, ...]


def refresh() -> None:
    """Call every function once. A failure is logged, and the old state stays in use.

    Nothing is called while the database does not answer: each function would wait for its whole time limit. Nothing
    more is called after a query for a missing table: the others would fail as well.
    """
    for function in manifest.get().polled:
        if not watch.is_answering():
            return
        try:
            _call_and_log(function, f"{function.__module__}.{function.__qualname__}")
        except DatabaseError:
            return


def start() -> None:
    """Poll once and start the thread, unless this process already has one."""
    with _lock:
        if os.getpid() in _started_pids:
            return
        _started_pids.add(os.getpid())
    watch.start_watching()
    refresh()
    threading.Thread(target=_run_loop, name="poller", daemon=True).start()


def is_failing() -> bool:
    """Return whether any function failed when it was last called, or the database does not answer."""
    return bool(_failing) or not watch.is_answering()


def _run_loop() -> None:
    pause = threading.Event()
    while not pause.wait(INTERVAL):
        refresh()
        close_old_connections()  # give the pooled connection back until the next poll


def _call_and_log(function: PollFunction, name: str) -> None:
    """Call a function and log if it begins to fail or works again. Raises DatabaseError if a table is missing."""
    try:
        function()
    except Exception as error:  # any error: the next poll tries again
        is_new = name not in _failing
        if is_schema_missing(error):
            if is_new:
                log.error("database.not_migrated retry_seconds=%s %s", INTERVAL, NOT_MIGRATED)
            _failing.add(name)
            close_old_connections()
            raise
        if is_new:
            log.warning("poller.failed function=%s retry_seconds=%s", name, INTERVAL, exc_info=error)
        _failing.add(name)
        close_old_connections()
    else:
        if name in _failing:
            log.info("poller.recovered function=%s", name)
        _failing.discard(name)


def run_in_background(name: str, work: Callable[[], object]) -> threading.Thread:
    """Start a thread that does the work with its own database connections. A failure is logged."""
    thread = threading.Thread(target=_run, args=(name, work), name=name, daemon=True)
    thread.start()
    return thread


def _run(name: str, work: Callable[[], object]) -> None:
    close_old_connections()
    try:
        work()
    except Exception as error:
        log.error("background.failed name=%s\n%s", name, logs.format_safely(error))
    finally:
        close_old_connections()


class PolledQuery:
    """A query whose SQL is built at its first use, which is when models and database are ready."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]]) -> None:
        self._build = build
        self._statement: tuple[str, tuple[Any, ...]] | None = None

    def fetch_rows(self) -> list[Row]:
        """Return the rows as the database's driver returns them.

        Django's conversions are left out: text can be used as it is, and everything else can be compared with the rows
        of the previous poll.
        """
        if self._statement is None:
            self._statement = self._build().query.sql_with_params()
        with connection.cursor() as cursor:
            cursor.execute(*self._statement)
            rows: list[Row] = cursor.fetchall()
        return rows
