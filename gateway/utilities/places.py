"""Places for calls that wait for others: they never take all threads of a process, or the memory of a machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from gateway.errors import Failed

PLACES = 2  # of a process, which has 4 threads

_places = BoundedSemaphore(PLACES)


@contextmanager
def taken() -> Iterator[None]:
    """Hold a place. Raises Failed (503 busy) where there is none: waiting for one would hold a thread as well."""
    if not _places.acquire(blocking=False):
        raise Failed(
            "As many pages are being read as may be at once; nothing was done. Send the same call again in a moment.",
            status=503,
            reason="busy",
            retryable=True,
            headers={"Retry-After": "2"},
        )
    try:
        yield
    finally:
        _places.release()
