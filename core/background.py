"""Work that takes too long for a request or for the poller: one thread for each piece, which ends with the process.

What must not get lost is a row in the database first; the thread only works on it.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import close_old_connections

from core import safe_traceback

log = logging.getLogger(__name__)


def run_in_background(name: str, work: Callable[[], object]) -> threading.Thread:
    """Start a thread that does the work with database connections of its own. A failure is logged."""
    thread = threading.Thread(target=_run, args=(name, work), name=name, daemon=True)
    thread.start()
    return thread


@contextmanager
def repeat_meanwhile(name: str, work: Callable[[], object], *, seconds: float) -> Iterator[None]:
    """Do small work again and again in a thread, every so many seconds, until the block ends. A failure is logged."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(seconds):
            _run(name, work)

    thread = threading.Thread(target=repeat, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()  # nothing of it may come after the block


def _run(name: str, work: Callable[[], object]) -> None:
    close_old_connections()
    try:
        work()
    except Exception as error:
        log.error("background.failed name=%s\n%s", name, safe_traceback.format(error))
    finally:
        close_old_connections()
