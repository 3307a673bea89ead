"""Threads that refresh a process's memory from the database, and work that outlives a request.

Every half second a thread reads the state version (core/background/state_version.py). If it has changed, it calls the
functions that the manifests declare as `refreshed`. Each reads its rows and swaps one reference. So all processes agree
within 1.1 seconds without talking to each other, and an idle process sends one query. What takes longer, or waits for
others, is done by threads of its own (`PollerThread`).

A function that others call as well reads its rows and swaps its reference under a lock. Otherwise rows that were read
earlier could replace newer ones, and the version would not change again.

Work that must not get lost is a row in the database first; a thread only processes it.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable
from typing import Any
from weakref import WeakSet

from django.db import DatabaseError, close_old_connections, connection
from django.db.models import QuerySet

from core import logs, manifest
from core.background import state_version
from core.database import watch
from core.database.watch import NOT_MIGRATED, is_schema_missing
from core.manifest import PollerThread

log = logging.getLogger(__name__)
INTERVAL = 0.5  # seconds
MAX_AGE = 30.0  # seconds after which everything is read again, although the version is the same
PollFunction = Callable[[], object]
_started_pids: set[int] = set()  # process ids: a fork must start its own thread
_failing: set[str] = set()  # names of functions; a failure is logged when it begins and when it ends, not at each poll
_rounds: dict[PollerThread, float] = {}  # when each thread last called all of its functions
_version: int | None = None  # of what is in memory; None: unknown
_refreshed_at = 0.0  # on the monotonic clock
_has_refreshed = threading.Event()  # since releases were last loaded
_background_threads: WeakSet[threading.Thread] = WeakSet()
_lock = threading.Lock()
Row = tuple[Any, ...]


def refresh(names: Collection[PollerThread] = tuple(PollerThread)) -> None:
    """Call every function of these threads once, in this thread. A failure is logged, and the old state stays in use.

    Nothing is called while the database does not answer: each function would wait for its whole time limit. Nothing
    more is called after a query for a missing table: the others would fail as well.
    """
    declared = manifest.get()
    # A release is loaded before functions ask for it.
    order = [PollerThread.RELEASES, PollerThread.MEMORY, PollerThread.UPKEEP]
    polled = [each for name in order if name in names for each in declared.polled.get(name, ())]
    _call_all([*declared.refreshed, *polled])


def refresh_if_changed() -> None:
    """Call the refreshed functions if the state version has changed, or the last time is long ago.

    Takes one query if nothing changed. If one of them fails, all are called at the next poll. They are also called if
    there is no version, or it cannot be read, because migrations have not run: better too often than not at all.
    """
    global _version, _refreshed_at
    try:
        version = state_version.read()
    except Exception:
        _version = None
        _call_all(manifest.get().refreshed)
        raise
    if version is not None and version == _version and time.monotonic() - _refreshed_at < MAX_AGE:
        return
    _version = None
    if _call_all(manifest.get().refreshed):
        _version, _refreshed_at = version, time.monotonic()
    _has_refreshed.set()


def start(names: Collection[PollerThread] = tuple(PollerThread)) -> None:
    """Call every function once and start these threads, unless this process already has them."""
    with _lock:
        if os.getpid() in _started_pids:
            return
        _started_pids.add(os.getpid())
    watch.start_watching()
    refresh(names)
    close_old_connections()  # this thread may never use the database again, such as one that runs an event loop
    for name in names:
        _rounds[name] = time.time()
        thread = threading.Thread(target=_run_loop, args=[name, threading.Event()], name=f"poller-{name}", daemon=True)
        thread.start()


def is_failing() -> bool:
    """Return whether any function failed when it was last called, or the database does not answer."""
    return bool(_failing) or not watch.is_answering()


def get_last_round() -> float:
    """Return when the thread that is furthest behind last called all of its functions, in seconds since 1970."""
    return min(_rounds.values(), default=time.time())


def poll(name: PollerThread) -> None:
    """Call the functions of a thread once."""
    first = [refresh_if_changed] if name == PollerThread.MEMORY else []
    _call_all([*first, *manifest.get().polled.get(name, ())])


def _run_loop(name: PollerThread, end: threading.Event) -> None:
    while not end.is_set():
        if name == PollerThread.RELEASES:  # as soon as it is known which is live, not up to half a second later
            _has_refreshed.wait(INTERVAL)
            _has_refreshed.clear()
        elif end.wait(INTERVAL):
            return
        poll(name)
        _rounds[name] = time.time()
        if name != PollerThread.MEMORY:  # which keeps its connection, so that it never waits for one of the pool
            close_old_connections()


def _call_all(functions: Iterable[PollFunction]) -> bool:
    """Call the functions. Return whether all of them were called and worked."""
    have_worked = True
    for function in functions:
        if not watch.is_answering():
            return False
        try:
            have_worked &= _call_and_log(function, f"{function.__module__}.{function.__qualname__}")
        except DatabaseError:
            return False
    return have_worked


def _call_and_log(function: PollFunction, name: str) -> bool:
    """Call a function and log if it begins to fail or works again. Return whether it worked.

    Raises DatabaseError if a table is missing.
    """
    try:
        function()
    except Exception as error:  # any error: the next poll tries again
        is_new = name not in _failing
        _failing.add(name)
        close_old_connections()
        if is_schema_missing(error):
            if is_new:
                log.error("database.not_migrated retry_seconds=%s %s", INTERVAL, NOT_MIGRATED)
            raise
        if is_new:
            log.warning("poller.failed function=%s retry_seconds=%s", name, INTERVAL, exc_info=error)
        return False
    if name in _failing:
        log.info("poller.recovered function=%s", name)
    _failing.discard(name)
    return True


def run_in_background(name: str, work: Callable[[], object]) -> threading.Thread:
    """Start a thread that does the work with its own database connections. A failure is logged."""
    thread = threading.Thread(target=_run, args=(name, work), name=name, daemon=True)
    _background_threads.add(thread)
    thread.start()
    return thread


def join_background_threads(*, until: float = math.inf) -> None:
    """Wait until the work in the background has ended, or until a time on the monotonic clock."""
    for thread in list(_background_threads):
        thread.join(None if until == math.inf else max(0.0, until - time.monotonic()))


def _run(name: str, work: Callable[[], object]) -> None:
    try:
        close_old_connections()
        try:
            work()
        finally:
            close_old_connections()
    except Exception as error:  # any error, also of a connection that cannot be closed: nobody else sees it
        log.error("background.failed name=%s\n%s", name, logs.format_safely(error))


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
