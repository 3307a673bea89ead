"""The pool of database connections: return one that a thread does not need while it waits."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def return_connection() -> Iterator[None]:
    """Return this thread's connection to the pool, for as long as the thread waits for another server.

    Else as many slow calls as the pool has connections would stop all others. SQLite has no pool. Inside a transaction
    the connection is kept.
    """
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        connection.close()  # the next query takes one again
    yield
