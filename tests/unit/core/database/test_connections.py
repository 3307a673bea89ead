"""How connections wait for SQLite's write lock, and what PostgreSQL keeps prepared."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, transaction

from core.database import connections
from core.database.connections import prepare_statements
from registry.models import Connection
from tests.support.clients.api import Api

pytestmark = pytest.mark.django_db(transaction=True)


def rename_in_transaction() -> None:
    with transaction.atomic():
        Connection.objects.update(name="second")


@pytest.mark.parametrize(
    "write",
    [
        rename_in_transaction,
        lambda: Connection.objects.update(name="second"),
        lambda: Connection.objects.bulk_create([Connection(name="third", kind="embedded")]),
    ],
)
def test_write_tries_again_soon_while_another_connection_writes(
    write: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("by design: PostgreSQL has a lock for each row")
    connection.ensure_connection()
    pauses: list[float] = []
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                other.execute("COMMIT")

        monkeypatch.setattr(connections, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pause))
        write()

    assert len(pauses) == 3
    assert max(pauses) <= connections.PAUSE_SECONDS[1]
    assert connection.cursor().execute("PRAGMA busy_timeout").fetchone()[0] > 0


@pytest.fixture
def on_postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("by design: SQLite keeps its statements prepared by itself")


def run(sql: str, *parameters: object) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.both_databases
@pytest.mark.usefixtures("on_postgresql")
def test_statements_of_reads_are_prepared(api: Api) -> None:
    for _ in range(10):
        assert api.exec("onto.task.list", {"limit": 1})["ok"] is True
        Connection.objects.first()

    assert connection.connection.prepare_threshold is None  # so that psycopg remembers no other statements
    prepared = " ".join(str(sql) for (sql,) in run("SELECT statement FROM pg_prepared_statements"))
    assert '"workspace_task"."title"' in prepared
    assert '"registry_connection"' not in prepared


@pytest.mark.both_databases
@pytest.mark.usefixtures("on_postgresql")
def test_connection_is_replaced_if_the_type_of_a_column_has_changed() -> None:
    run("CREATE TABLE changing (number integer)")
    other = connection.copy()  # of a migration
    try:
        with prepare_statements():
            for _ in range(10):
                assert run("SELECT number FROM changing") == []
            other.cursor().execute("ALTER TABLE changing ALTER number TYPE text USING number::text")
            with pytest.raises(OperationalError, match="must not change result type"):
                run("SELECT number FROM changing")
            connection.close()  # as at the end of each request
            assert run("SELECT number FROM changing") == []
    finally:
        other.cursor().execute("DROP TABLE changing")
        other.close()
