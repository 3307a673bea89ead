"""Which commits of a batch wait for the disk (`synchronous_commit`)."""

from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from gateway.batches import entry_claims, entry_runner, runner, store
from tests.support.clients.api import Api
from tests.support.clients.batches import LIST, build_create_entry, send_background_batch

pytestmark = [
    pytest.mark.both_databases,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="by design: SQLite has no such setting"),
]


def test_batch_commits_wait_for_the_disk_only_after_writes_and_cancels(api: Api, queued_batches: list[str]) -> None:
    commits: list[str] = []

    def record_commit(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith(f"UPDATE {entry_claims._ENTRY}"):
            commits.append("asynchronous" if "synchronous_commit" in sql else "synchronous")
        return execute(sql, params, many, context)

    batch = store.get_cached_batch(
        UUID(send_background_batch(api, LIST, build_create_entry("Kept"), LIST, mode="parallel"))
    )
    with connection.execute_wrapper(record_commit):
        assert runner.run_next_entry(batch)
        assert runner.run_next_entry(batch)
        entry_runner.close_entries(batch, {2: "cancelled"})

    assert commits == ["asynchronous"] * 3 + ["synchronous"] * 2
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == ("on",)
