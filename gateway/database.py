"""Database failures as API errors, and the time limit of reads."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg.errors
from django.conf import settings
from django.db import OperationalError, connection, transaction

from core.deadlines import Deadline, DeadlineExceeded, bound_statements
from gateway import idempotency
from gateway.errors import Conflict, Failed, GatewayError, unavailable


@contextmanager
def read_within(deadline: Deadline, *, timeout_ms: int) -> Iterator[None]:
    """Run the queries of a read under a deadline.

    On PostgreSQL every connection already has the default statement timeout. Only an op with another timeout needs a
    transaction to set it.
    """
    with deadline.enforced():
        if connection.vendor == "postgresql" and timeout_ms != settings.DEFAULT_STATEMENT_TIMEOUT_MS:
            with transaction.atomic():
                bound_statements(deadline)
                yield
        else:
            yield


def meaning(error: Exception, *, keyed: bool) -> GatewayError:
    """Return the API error for a deadline or a database error. Nothing was done: the transaction was rolled back.

    `keyed` tells whether the call has an idempotency key.
    """
    cause = error.__cause__
    if isinstance(error, DeadlineExceeded) or isinstance(cause, psycopg.errors.QueryCanceled):
        return Failed(
            "The call timed out; nothing was changed. Send the same call again, or ask for less.",
            status=504,
            reason="timeout",
            retryable=True,
        )
    if isinstance(cause, psycopg.errors.LockNotAvailable) or "database is locked" in str(error):
        if keyed:
            return idempotency.in_progress("")
        return _busy()
    if isinstance(cause, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure):
        return _busy()
    return unavailable()


def is_deadlock(error: OperationalError) -> bool:
    """Whether PostgreSQL rolled back the transaction to resolve a deadlock."""
    return isinstance(error.__cause__, psycopg.errors.DeadlockDetected)


def _busy() -> Conflict:
    return Conflict(
        "Another call is changing the same row; nothing was done. Send the same call again in a second.",
        reason="busy",
        retryable=True,
        headers={"Retry-After": "1"},
    )
