import psycopg.errors
import pytest
from django.db import InterfaceError, OperationalError

from core.deadlines import DeadlineExceeded
from gateway.execution.db_errors import to_api_error

pytestmark = pytest.mark.both_databases


def caused(error: Exception, cause: Exception | None) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "keyed", "status", "reason", "code"),
    [
        (DeadlineExceeded(), False, 504, "timeout", "INTERNAL"),
        (caused(OperationalError(), psycopg.errors.QueryCanceled()), True, 504, "timeout", "INTERNAL"),
        (caused(OperationalError(), psycopg.errors.LockNotAvailable()), True, 409, "in_progress", "CONFLICT"),
        (caused(OperationalError(), psycopg.errors.LockNotAvailable()), False, 409, "busy", "CONFLICT"),
        (caused(OperationalError(), psycopg.errors.DeadlockDetected()), True, 409, "busy", "CONFLICT"),
        (caused(OperationalError(), psycopg.errors.SerializationFailure()), False, 409, "busy", "CONFLICT"),
        (OperationalError("database is locked"), True, 409, "in_progress", "CONFLICT"),
        (OperationalError("database is locked"), False, 409, "busy", "CONFLICT"),
        (OperationalError("disk I/O error"), True, 503, "unavailable", "INTERNAL"),
        (caused(OperationalError(), psycopg.OperationalError("server closed")), True, 503, "unavailable", "INTERNAL"),
        (InterfaceError("connection already closed"), False, 503, "unavailable", "INTERNAL"),
    ],
)
def test_meaning_of_a_database_error(error: Exception, keyed: bool, status: int, reason: str, code: str) -> None:
    told = to_api_error(error, keyed=keyed)

    assert (told.status, told.reason, told.code) == (status, reason, code)
    assert told.retryable is True  # in each case nothing was done
    assert str(error) not in str(told) or not str(error)
