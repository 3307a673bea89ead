"""Until when this thread may wait for the database. The modules for each database apply it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_wait_until: ContextVar[float | None] = ContextVar("wait_until", default=None)


@contextmanager
def limit_waits(until: float) -> Iterator[None]:
    """Limit waits for the database to a point on the monotonic clock."""
    token = _wait_until.set(until)
    try:
        yield
    finally:
        _wait_until.reset(token)


def get_wait_until() -> float | None:
    """Return the point that `limit_waits` has set, or None outside of it."""
    return _wait_until.get()
