"""PostgreSQL connections that do not wait forever.

PostgreSQL ends a slow statement itself (`statement_timeout`). A server that is paused, or behind a network that
swallows packets, ends nothing: it keeps the connection and sends nothing. So this side has a limit, too. It is a second
longer than the server's, whose error says more.
"""

import time
from typing import TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.rows import Row

from core.wait_limit import get_wait_until

T = TypeVar("T")

GRACE_SECONDS = 1.0


class LimitedConnection(psycopg.Connection[Row]):
    """A connection that closes and raises OperationalError if the server does not respond in time."""

    default_seconds = 30.0  # the settings put their statement timeout here

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        try:
            return super().wait(gen, interval, self._get_limit() if timeout is None else timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # not the server's: the connection was lost, or an answer may still come
                self.pgconn.finish()
            raise

    def _get_limit(self) -> float:
        until = get_wait_until()
        left = self.default_seconds if until is None else max(0.0, until - time.monotonic())
        return left + GRACE_SECONDS
