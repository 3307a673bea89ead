"""Deadlines for calls, enforced in the database, and several SQL statements in one round trip."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from django.db import connection

from core.records import record

_wait_until: ContextVar[float | None] = ContextVar("wait_until", default=None)
Statement = tuple[str, Sequence[Any]]  # SQL and its parameters


class limit_waits:  # noqa: N801 - a context manager; a generator would take three times as long, on every call
    """Limit waits for the database to a point on the monotonic clock."""

    __slots__ = ("_token", "_until")

    def __init__(self, until: float) -> None:
        self._until = until

    def __enter__(self) -> None:
        self._token = _wait_until.set(self._until)

    def __exit__(self, *_: object) -> None:
        _wait_until.reset(self._token)


class _wrap_queries:  # noqa: N801 - a context manager, as Django's execute_wrapper in a quarter of the time
    """Call a function around each query of a connection."""

    __slots__ = ("_wrapper", "_wrappers")

    def __init__(self, wrappers: list[Any], wrapper: Callable[..., Any]) -> None:
        self._wrappers = wrappers
        self._wrapper = wrapper

    def __enter__(self) -> None:
        self._wrappers.append(self._wrapper)

    def __exit__(self, *_: object) -> None:
        self._wrappers.pop()


def get_wait_until() -> float | None:
    """Return the point that `limit_waits` has set, or None outside of it."""
    return _wait_until.get()


def execute_together(*statements: Statement) -> tuple[Any, ...] | None:
    """Run statements in order, and return the first row of the last one, or None if it returns no rows.

    PostgreSQL gets them in one round trip and treats each as a separate statement with its own time limit. It stops
    at the first error. The caller has a transaction open, otherwise they would be one.
    """
    if not statements:
        return None
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("; ".join(sql for sql, _ in statements), [each for _, some in statements for each in some])
            while cursor.nextset():
                pass
        else:
            for statement in statements:
                cursor.execute(*statement)
        return cursor.fetchone() if cursor.description else None


class DeadlineExceeded(Exception):
    """The call exceeded its time limit."""


@record
class Deadline:
    """A point in time on the monotonic clock, in seconds."""

    at: float

    @classmethod
    def after(cls, *, milliseconds: int) -> "Deadline":
        """Return a deadline `milliseconds` from now."""
        return cls(time.monotonic() + milliseconds / 1000)

    def or_earlier(self, other: "Deadline | None") -> "Deadline":
        """Return the earlier of the two deadlines, or this one if `other` is None."""
        return self if other is None or self.at <= other.at else other

    def get_remaining_ms(self) -> int:
        """Return the milliseconds left, at least 1. Raises DeadlineExceeded if the deadline has passed."""
        remaining_seconds = self.at - time.monotonic()
        if remaining_seconds <= 0:
            raise DeadlineExceeded
        return max(1, int(remaining_seconds * 1000))

    def limit_waits(self) -> AbstractContextManager[None]:
        """Give up waiting for SQLite's write lock at the deadline, and for PostgreSQL soon after it.

        Raises DeadlineExceeded if the deadline has passed.
        """
        self.get_remaining_ms()
        return limit_waits(self.at)

    def enforce(self) -> AbstractContextManager[None]:
        """Raise DeadlineExceeded for any database query that starts after the deadline."""
        return _wrap_queries(connection.execute_wrappers, self._check_before_query)

    def _check_before_query(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        self.get_remaining_ms()
        return execute(sql, params, many, context)


def limit_statement_time(deadline: Deadline) -> None:
    """Limit statements and lock waits of the open transaction on PostgreSQL. No-op on other databases."""
    execute_together(*build_limit_statements(deadline))


def build_limit_statements(deadline: Deadline) -> tuple[Statement, ...]:
    """Return the statement of `limit_statement_time`, to be sent with others; empty except on PostgreSQL."""
    if connection.vendor != "postgresql":
        return ()
    remaining_ms = deadline.get_remaining_ms()
    # If both timeouts expire together, PostgreSQL reports the statement timeout. With a shorter lock timeout a lock
    # wait is not reported as slow work.
    lock_timeout_ms = max(1, remaining_ms - min(remaining_ms // 10, 250))
    sql = "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)"
    return ((sql, [str(remaining_ms), str(lock_timeout_ms)]),)
