"""Several SQL statements in one round trip, for writes whose caller waits for each of them."""

from collections.abc import Sequence
from typing import Any

from django.db import connection

Statement = tuple[str, Sequence[Any]]  # SQL and its parameters


def execute_together(*statements: Statement) -> tuple[Any, ...] | None:
    """Run statements in order, and return the first row of the last one, or None if it returns no rows.

    PostgreSQL gets them in one round trip and treats each as a statement of its own, with its own time limit. It stops
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
