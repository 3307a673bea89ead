"""What a database error means for the person who operates the gateway."""

from django.db import DatabaseError, InterfaceError, OperationalError

# Of PostgreSQL: undefined table, undefined column.
_SCHEMA_STATES = ("42P01", "42703")
_SCHEMA_MESSAGES = ("no such table", "no such column", "has no column named")  # of SQLite

NOT_MIGRATED = "The database lacks tables or columns of this version. Run: python manage.py migrate"


def is_schema_missing(error: BaseException | None) -> bool:
    """Return whether a query failed because migrations have not run."""
    if not isinstance(error, DatabaseError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    return state in _SCHEMA_STATES or str(error).startswith(_SCHEMA_MESSAGES) or _SCHEMA_MESSAGES[2] in str(error)


def is_unavailable(error: BaseException | None) -> bool:
    """Return whether a query failed because the database cannot be reached or cannot work at the moment."""
    return isinstance(error, OperationalError | InterfaceError) and not is_schema_missing(error)
