"""The rows that migrations create. A test with real transactions ends by emptying all tables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.apps import apps
from django.core.management.commands import flush
from django.core.management.sql import sql_flush
from django.db import connection, transaction

from tests.support.rows.catalog_fixture import insert_rows


@contextmanager
def insert_rows_after_flush() -> Iterator[None]:
    """Insert the rows that are now in the test database whenever Django has emptied it, and let it empty it faster.

    Django sends the signal that follows a migration instead. Its receivers look up each of hundreds of permissions,
    which takes 0.1 s, and they do not bring back what migrations themselves have inserted.
    """
    with (
        mock.patch.object(flush, "sql_flush", _list_deletes),
        mock.patch.object(flush, "emit_post_migrate_signal", _build_insert(_read_rows())),
    ):
        yield


def _list_deletes(*arguments: Any, **options: Any) -> list[str]:
    """Return the SQL that empties the tables.

    TRUNCATE makes new files for each of hundreds of tables and indexes, for seconds on a busy machine. A superuser may
    delete the rows of the few that have some, in any order.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql" or cursor.execute("SHOW is_superuser").fetchone() != ("on",):
            return sql_flush(*arguments, **options)
        filled = " UNION ALL ".join(
            f"""SELECT '{table}' WHERE EXISTS (SELECT FROM "{table}")"""  # noqa: S608
            for table in connection.introspection.django_table_names(only_existing=True, include_views=False)
        )
        tables = [table for (table,) in cursor.execute(filled).fetchall()]
    return ["SET LOCAL session_replication_role = replica", *(f'DELETE FROM "{table}"' for table in tables)]  # noqa: S608


def _read_rows() -> dict[str, list[tuple[Any, ...]]]:
    tables = [model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    with connection.cursor() as cursor:
        rows = {table: cursor.execute(f'SELECT * FROM "{table}"').fetchall() for table in tables}  # noqa: S608
    return {table: found for table, found in rows.items() if found}


def _build_insert(rows_by_table: dict[str, list[tuple[Any, ...]]]) -> Callable[..., None]:
    def insert_all(*_: object, **__: object) -> None:
        with transaction.atomic(), connection.cursor() as cursor:  # rows may come before those that they refer to
            for table, rows in rows_by_table.items():
                insert_rows(cursor, table, rows)

    return insert_all
