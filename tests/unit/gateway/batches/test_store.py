"""What the sweep of every process costs."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from gateway.batches import leases, store

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="by design: PostgreSQL plans by what tables hold")
@pytest.mark.parametrize(
    "look", [leases.find_lost_entries, store.find_overdue, store.find_unnotified, store.find_stalled]
)
def test_the_sweep_looks_at_what_is_open_and_not_at_all_that_is_kept(look: Callable[[], Any]) -> None:
    asked: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        asked.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        look()

    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + asked[-1][0], asked[-1][1])
        plan = " ".join(row[-1] for row in cursor.fetchall())
    assert "batch_entry_open" in plan
    assert "SCAN" not in plan
