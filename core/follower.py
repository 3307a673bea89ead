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

_started: set[int] = set()  # process ids: a fork must start its own thread
_failing: set[str] = set()  # dotted paths; a failure is logged when it begins and when it ends, not at each poll
_lock = threading.Lock()


def poll() -> None:
    """Call every function in GATEWAY_FOLLOWS once. A failure is logged, and the old state stays in use."""
    for path in settings.GATEWAY_FOLLOWS:
        _call(import_string(path), path)


def start() -> None:
    """Poll once and start the thread, unless this process already has one."""
    with _lock:
        if os.getpid() in _started:
            return
        _started.add(os.getpid())
    poll()
    threading.Thread(target=_run, name="follower", daemon=True).start()


def is_failing() -> bool:
    """Return whether any function failed when it was last called."""
    return bool(_failing)


def _run() -> None:
    pause = threading.Event()
    while not pause.wait(INTERVAL):
        poll()
        close_old_connections()  # give the pooled connection back until the next poll


def _call(follow: Callable[[], None], path: str) -> None:
    try:
        follow()
    except Exception as error:  # any error: the next poll tries again
        if path not in _failing:
            log.warning("poller.failed function=%s retry_seconds=%s", path, INTERVAL, exc_info=error)
        _failing.add(path)
        close_old_connections()
    else:
        if path in _failing:
            log.info("poller.recovered function=%s", path)
        _failing.discard(path)
