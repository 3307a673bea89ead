"""Queries that the poller runs twice a second. Their SQL is built once: building it takes ten times as long as running
it, and an idle process does nothing else.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from django.db.models import QuerySet

Row = tuple[Any, ...]


class PolledQuery:
    """A query whose SQL is built at its first use, which is when models and database are ready."""

    def __init__(self, build: Callable[[], QuerySet[Any, Any]]) -> None:
        self._build = build
        self._statement: tuple[str, tuple[Any, ...]] | None = None

    def fetch_rows(self) -> list[Row]:
        """Return the rows as the database's driver returns them.

        Django's conversions are left out: text can be used as it is, and everything else can be compared with the rows
        of the poll before.
        """
        if self._statement is None:
            self._statement = self._build().query.sql_with_params()
        with connection.cursor() as cursor:
            cursor.execute(*self._statement)
            rows: list[Row] = cursor.fetchall()
        return rows
