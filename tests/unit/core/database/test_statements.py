"""Several statements in one round trip: in order, all with their parameters, with the first row of the last one."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from core.database.deadlines import execute_together
from registry.models import Connection

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

TABLE = Connection._meta.db_table
INSERT = f"INSERT INTO {TABLE} (name, kind) VALUES (%s, 'embedded')"  # noqa: S608
RENAME = f"UPDATE {TABLE} SET name = %s WHERE name = %s RETURNING name"  # noqa: S608


def test_statements_run_in_order_and_return_the_first_row_of_the_last() -> None:
    with CaptureQueriesContext(connection) as queries:
        row = execute_together((INSERT, ["one; two %"]), (RENAME, ["three", "one; two %"]))

    assert row == ("three",)
    assert len(queries) == (1 if connection.vendor == "postgresql" else 2)


def test_last_statement_without_rows_returns_none() -> None:
    assert execute_together((RENAME, ["one", "absent"])) is None
    assert execute_together((INSERT, ["one"])) is None
    assert execute_together() is None


def test_statements_after_a_failed_one_do_not_run() -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        execute_together((INSERT, ["twice"]), (INSERT, ["twice"]), (INSERT, ["after"]))

    assert not Connection.objects.filter(name__in=["twice", "after"]).exists()
