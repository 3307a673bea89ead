"""Deadlines for calls, enforced in the database too, so that a slow query cannot exceed the time limit of its call."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection


class DeadlineExceeded(Exception):
    """The call exceeded its time limit."""


@dataclass(frozen=True, slots=True)
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

    def left_ms(self) -> int:
        """Return the milliseconds left, at least 1. Raises DeadlineExceeded if the deadline has passed."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded
        return max(1, int(left * 1000))

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Raise DeadlineExceeded for any database query that starts after the deadline."""
        with connection.execute_wrapper(self._check):
            yield

    def _check(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        self.left_ms()
        return execute(sql, params, many, context)


def wait_for_write_lock_at_most(deadline: Deadline) -> None:
    """Limit how long the next BEGIN IMMEDIATE waits for SQLite's single write lock. No-op on other databases."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.execute(f"PRAGMA busy_timeout={deadline.left_ms()}")


def bound_statements(deadline: Deadline) -> None:
    """Limit statements and lock waits of the open transaction on PostgreSQL. No-op on other databases."""
    if connection.vendor == "postgresql":
        left = deadline.left_ms()
        # If both timeouts expire together, PostgreSQL reports the statement timeout. With a shorter lock timeout a lock
        # wait is not reported as slow work.
        wait = max(1, left - min(left // 10, 250))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
                [str(left), str(wait)],
            )
