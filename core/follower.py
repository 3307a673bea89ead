"""One thread a process that keeps memory in step with the database.

Every half second it calls the functions named in `settings.GATEWAY_FOLLOWS`, each of which reads what it watches and
swaps one reference. Processes thus agree within two seconds without talking to each other (DESIGN section 7).
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

_started: set[int] = set()  # process ids: a fork must start a thread of its own
_failing: set[str] = set()  # what is logged when it begins and when it ends, not twice a second
_lock = threading.Lock()


def poll() -> None:
    """Call every follow function once. One that fails is logged and keeps what it last knew."""
    for path in settings.GATEWAY_FOLLOWS:
        _call(import_string(path), path)


def start() -> None:
    """Poll once, then start the thread, unless this process has one already."""
    with _lock:
        if os.getpid() in _started:
            return
        _started.add(os.getpid())
    poll()
    threading.Thread(target=_run, name="follower", daemon=True).start()


def is_failing() -> bool:
    """Whether a follow function failed when it was last called."""
    return bool(_failing)


def _run() -> None:
    pause = threading.Event()
    while not pause.wait(INTERVAL):
        poll()
        close_old_connections()  # until the next poll a pooled connection is the callers'


def _call(follow: Callable[[], None], path: str) -> None:
    try:
        follow()
    except Exception as error:  # whatever it is, the next half second tries again
        if path not in _failing:
            log.warning("%s fails and is tried again every half second", path, exc_info=error)
        _failing.add(path)
        close_old_connections()
    else:
        if path in _failing:
            log.info("%s works again", path)
        _failing.discard(path)
