"""Deadlines that reach into the database: the time a call may take is ours to keep, whatever a query would like."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection


class DeadlineExceeded(Exception):
    """The call took longer than it may."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock."""

    at: float

    @classmethod
    def after(cls, *, milliseconds: int) -> "Deadline":
        """Return the deadline that many milliseconds from now."""
        return cls(time.monotonic() + milliseconds / 1000)

    def or_earlier(self, other: "Deadline | None") -> "Deadline":
        """Return the earlier of two deadlines, this one where there is no other."""
        return self if other is None or self.at <= other.at else other

    def left_ms(self) -> int:
        """Return the milliseconds left, at least 1; raises DeadlineExceeded when there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded
        return max(1, int(left * 1000))

    @contextmanager
    def enforced(self) -> Iterator[None]:
        """Refuse any database query that would begin after the deadline."""
        with connection.execute_wrapper(self._check):
            yield

    def _check(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        self.left_ms()
        return execute(sql, params, many, context)


def wait_for_write_lock_at_most(deadline: Deadline) -> None:
    """On SQLite, bound how long the next BEGIN IMMEDIATE waits for the one write lock. Elsewhere do nothing."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.execute(f"PRAGMA busy_timeout={deadline.left_ms()}")


def bound_statements(deadline: Deadline) -> None:
    """On PostgreSQL, bound statements and lock waits of the open transaction. Elsewhere do nothing."""
    if connection.vendor == "postgresql":
        left = deadline.left_ms()
        # Of two timeouts at one moment PostgreSQL tells the statement's: a wait for a lock would look like slow work.
        wait = max(1, left - min(left // 10, 250))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)",
                [str(left), str(wait)],
            )
