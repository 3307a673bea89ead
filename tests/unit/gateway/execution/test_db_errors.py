import psycopg.errors
import pytest
from django.db import InterfaceError, OperationalError

from core.database.deadlines import DeadlineExceeded
from gateway.execution.db_errors import to_api_error

pytestmark = pytest.mark.both_databases


def add_cause(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "keyed", "status", "reason", "code"),
    [
        (DeadlineExceeded(), False, 504, "timeout", "INTERNAL"),
        (add_cause(OperationalError(), psycopg.errors.QueryCanceled()), True, 504, "timeout", "INTERNAL"),
        (add_cause(OperationalError(), psycopg.errors.LockNotAvailable()), True, 409, "in_progress", "CONFLICT"),
        (add_cause(OperationalError(), psycopg.errors.LockNotAvailable()), False, 409, "busy", "CONFLICT"),
        (add_cause(OperationalError(), psycopg.errors.DeadlockDetected()), True, 409, "busy", "CONFLICT"),
        (add_cause(OperationalError(), psycopg.errors.SerializationFailure()), False, 409, "busy", "CONFLICT"),
        (OperationalError("database is locked"), True, 409, "in_progress", "CONFLICT"),
        (OperationalError("database is locked"), False, 409, "busy", "CONFLICT"),
        (OperationalError("disk I/O error"), True, 503, "unavailable", "INTERNAL"),
        (
            add_cause(OperationalError(), psycopg.OperationalError("server closed")),
            True,
            503,
            "unavailable",
            "INTERNAL",
        ),
        (InterfaceError("connection already closed"), False, 503, "unavailable", "INTERNAL"),
    ],
)
def test_database_error_becomes_an_api_error(
    error: Exception, keyed: bool, status: int, reason: str, code: str
) -> None:
    api_error = to_api_error(error, keyed=keyed)

    assert (api_error.status, api_error.reason, api_error.code) == (status, reason, code)
    assert api_error.retryable is True  # nothing was done in any of these cases
    assert str(error) not in str(api_error) or not str(error)
