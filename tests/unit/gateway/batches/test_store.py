"""The queries of the sweep use an index."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from gateway.batches import entry_claims, store

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="by design: PostgreSQL plans by what tables hold")
@pytest.mark.parametrize(
    "find_rows", [entry_claims.find_lost_entries, store.find_overdue, store.find_unnotified, store.find_stalled]
)
def test_sweep_queries_use_the_index_of_open_entries(find_rows: Callable[[], Any]) -> None:
    statements: list[tuple[str, Any]] = []

    def record_statement(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record_statement):
        find_rows()

    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN QUERY PLAN " + statements[-1][0], statements[-1][1])
        plan = " ".join(row[-1] for row in cursor.fetchall())
    assert "batch_entry_open" in plan
    assert "SCAN" not in plan
