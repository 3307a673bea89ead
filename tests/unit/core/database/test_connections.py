"""How connections wait for SQLite's write lock."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace

import pytest
from django.db import connection, transaction

from core.database import connections
from registry.models import Connection

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
