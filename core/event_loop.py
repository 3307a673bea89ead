"""An event loop in a thread of this process, for libraries that are asynchronous and keep connections open."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, TypeVar

T = TypeVar("T")

GRACE_SECONDS = 1.0  # for a coroutine to end after it was cancelled

_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process id: a fork has no threads
_lock = threading.Lock()


def run(coroutine: Coroutine[Any, Any, T], *, seconds: float) -> T:
    """Run a coroutine on the loop and return its result; the thread waits. Raises TimeoutError.

    After `seconds` it is cancelled. Context variables of the caller are visible to it.
    """
    future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(coroutine, max(seconds, 0)), get_loop())
    try:
        return future.result(max(seconds, 0) + GRACE_SECONDS)
    except (FutureTimeout, CancelledError):
        future.cancel()
        raise TimeoutError from None


def get_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of this process, started on first use."""
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="event-loop", daemon=True).start()
        return loop
