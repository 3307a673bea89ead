"""A thread in each process that refreshes its in-memory state from the database.

Every half second it calls the functions that `config/wiring.py` passes to `set_functions`. Each reads its rows and
swaps one reference. So all processes agree within two seconds without talking to each other.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence

from django.db import DatabaseError, close_old_connections

from core import database_watch
from core.database_errors import NOT_MIGRATED, is_schema_missing

log = logging.getLogger(__name__)

INTERVAL = 0.5  # seconds

PollFunction = Callable[[], object]

_functions: tuple[PollFunction, ...] = ()
_started_pids: set[int] = set()  # process ids: a fork must start its own thread
_failing: set[str] = set()  # names of functions; a failure is logged when it begins and when it ends, not at each poll
_lock = threading.Lock()


def set_functions(functions: Sequence[PollFunction]) -> None:
    """Set the functions to call at each poll, in this order."""
    global _functions
    _functions = tuple(functions)


def refresh() -> None:
    """Call every function once. A failure is logged, and the old state stays in use.

    Nothing is called while the database does not answer: each function would wait for it as long as it may. Nor is
    anything after a query for a table that is missing: the others would fail as well.
    """
    for function in _functions:
        if not database_watch.is_answering():
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
    database_watch.start()
    refresh()
    threading.Thread(target=_run_loop, name="poller", daemon=True).start()


def is_failing() -> bool:
    """Return whether any function failed when it was last called, or the database does not answer."""
    return bool(_failing) or not database_watch.is_answering()


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
