"""A thread in each process that refreshes its in-memory state from the database.

Every half second it calls the functions named in `settings.GATEWAY_FOLLOWS`. Each reads its rows and swaps one
reference. So all processes agree within two seconds without talking to each other.
"""

import logging
import os
import threading
from collections.abc import Callable

from django.conf import settings
from django.db import close_old_connections
from django.utils.module_loading import import_string

log = logging.getLogger(__name__)

INTERVAL = 0.5  # seconds

_started_pids: set[int] = set()  # process ids: a fork must start its own thread
_failing_paths: set[str] = set()  # dotted paths; a failure is logged when it begins and when it ends, not at each poll
_lock = threading.Lock()


def refresh() -> None:
    """Call every function in GATEWAY_FOLLOWS once. A failure is logged, and the old state stays in use."""
    for path in settings.GATEWAY_FOLLOWS:
        _call_and_log(import_string(path), path)


def start() -> None:
    """Poll once and start the thread, unless this process already has one."""
    with _lock:
        if os.getpid() in _started_pids:
            return
        _started_pids.add(os.getpid())
    refresh()
    threading.Thread(target=_run_loop, name="follower", daemon=True).start()


def is_failing() -> bool:
    """Return whether any function failed when it was last called."""
    return bool(_failing_paths)


def _run_loop() -> None:
    pause = threading.Event()
    while not pause.wait(INTERVAL):
        refresh()
        close_old_connections()  # give the pooled connection back until the next poll


def _call_and_log(function: Callable[[], None], path: str) -> None:
    try:
        function()
    except Exception as error:  # any error: the next poll tries again
        if path not in _failing_paths:
            log.warning("poller.failed function=%s retry_seconds=%s", path, INTERVAL, exc_info=error)
        _failing_paths.add(path)
        close_old_connections()
    else:
        if path in _failing_paths:
            log.info("poller.recovered function=%s", path)
        _failing_paths.discard(path)
