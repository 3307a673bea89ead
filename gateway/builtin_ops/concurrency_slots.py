"""Limit how many calls of a process wait for the network at once, so that they never take all its threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from gateway.contracts.errors import InternalError

MAX_SLOTS = 2  # per process, which has 4 threads

_slots = BoundedSemaphore(MAX_SLOTS)


@contextmanager
def hold_slot() -> Iterator[None]:
    """Hold a slot. Raises InternalError (503 busy) if none is free: waiting for one would block a thread too."""
    if not _slots.acquire(blocking=False):
        raise InternalError(
            "Too many pages are being read at once; nothing was done. Send the same call again in a moment.",
            status=503,
            reason="busy",
            retryable=True,
            headers={"Retry-After": "2"},
        )
    try:
        yield
    finally:
        _slots.release()
