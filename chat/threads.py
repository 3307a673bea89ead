"""Threads of turns. A few that have ended their turn wait for another one, and keep their connection to SQLite.

To open a file of SQLite takes as long as the rest of a short turn. PostgreSQL has a pool for that.
"""

import threading
from collections.abc import Callable
from contextvars import Context
from queue import SimpleQueue

from chat.connections import close_connection, give_back_connection

Run = Callable[[], None]

MAX_IDLE = 16

_idle: list["_TurnThread"] = []
_lock = threading.Lock()


class _TurnThread(threading.Thread):
    """A thread that runs one turn after the other."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._runs = SimpleQueue[tuple[Run, str]]()

    def give(self, run: Run, name: str) -> None:
        """Run this next. The thread is idle, or has not started."""
        self._runs.put((run, name))

    def run(self) -> None:
        try:
            while True:
                self._run_next(*self._runs.get())
                with _lock:
                    if len(_idle) >= MAX_IDLE:
                        return
                    _idle.append(self)
        finally:
            close_connection()

    def _run_next(self, run: Run, name: str) -> None:
        self.name = name
        try:
            Context().run(run)  # nothing of the turn before
        finally:
            give_back_connection()


def start_thread(run: Run, *, name: str) -> None:
    """Run a turn in a separate thread. Raises RuntimeError if there can be no more threads."""
    with _lock:
        thread = _idle.pop() if _idle else None
    if thread is not None:
        thread.give(run, name)
        return
    thread = _TurnThread()
    thread.give(run, name)
    thread.start()
