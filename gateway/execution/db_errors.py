"""Database failures as API errors, and the time limit of reads."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg.errors
from django.conf import settings
from django.db import OperationalError, connection, transaction

from core.database.deadlines import Deadline, DeadlineExceeded, limit_statement_time
from core.database.watch import is_schema_missing
from gateway.contracts.errors import (
    ConflictError,
    GatewayError,
    InternalError,
    build_not_migrated_error,
    build_unavailable_error,
)
from gateway.execution import idempotency


def enforce_read_deadline(deadline: Deadline, *, timeout_ms: int) -> AbstractContextManager[None]:
    """Run the queries of a read under a deadline.

    On PostgreSQL every connection already has the default statement timeout. Only an op with another timeout needs a
    transaction to set it.
    """
    if timeout_ms != settings.DEFAULT_STATEMENT_TIMEOUT_MS and connection.vendor == "postgresql":
        return _enforce_in_transaction(deadline)
    return deadline.enforce()


@contextmanager
def _enforce_in_transaction(deadline: Deadline) -> Iterator[None]:
    with deadline.enforce(), transaction.atomic():
        limit_statement_time(deadline)
        yield


def to_api_error(error: Exception, *, keyed: bool) -> GatewayError:
    """Return the API error for a deadline or a database error. Nothing was done: the transaction was rolled back.

    `keyed` says whether the call has an idempotency key.
    """
    cause = error.__cause__
    if isinstance(error, DeadlineExceeded) or isinstance(cause, psycopg.errors.QueryCanceled):
        return InternalError(
            "The call timed out; nothing was changed. Send the same call again, or ask for less.",
            status=504,
            reason="timeout",
            retryable=True,
        )
    if is_schema_missing(error):
        return build_not_migrated_error()
    if isinstance(cause, psycopg.errors.LockNotAvailable) or "database is locked" in str(error):
        if keyed:
            return idempotency.build_in_progress_error("")
        return _build_busy_error()
    if isinstance(cause, psycopg.errors.DeadlockDetected | psycopg.errors.SerializationFailure):
        return _build_busy_error()
    return build_unavailable_error()


def is_deadlock(error: OperationalError) -> bool:
    """Whether PostgreSQL rolled back the transaction to resolve a deadlock."""
    return isinstance(error.__cause__, psycopg.errors.DeadlockDetected)


def _build_busy_error() -> ConflictError:
    return ConflictError(
        "Another call is changing the same row; nothing was done. Send the same call again in a second.",
        reason="busy",
        retryable=True,
        headers={"Retry-After": "1"},
    )
