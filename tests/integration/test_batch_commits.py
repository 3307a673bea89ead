"""What of a batch waits for the disk."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from gateway.batches import leases, runner, store
from tests.support.api import Api
from tests.support.batches import LIST, create, in_the_background

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="by design: SQLite has no such setting"),
]


def test_claims_and_reads_do_not_wait_for_the_disk_and_writes_and_what_is_cancelled_do(
    api: Api, messages: list[str]
) -> None:
    sent: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(f"UPDATE {leases._ENTRY}"):
            sent.append("later" if "synchronous_commit" in sql else "at once")
        return execute(sql, params, many, context)

    batch = store.get_cached_batch(UUID(in_the_background(api, LIST, create("Kept"), LIST, mode="parallel")))
    with connection.execute_wrapper(note):
        assert runner.run_next_entry(batch)
        assert runner.run_next_entry(batch)
        runner.close_entries(batch, {2: "cancelled"})

    assert sent == ["later", "later", "later", "at once", "at once"]
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
