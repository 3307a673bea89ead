"""Leases: which runner runs an entry.

A runner claims an entry by an update that only one can win, and renews its lease every few seconds. If it dies, the
lease expires and another runner takes the entry over.

The statements are raw SQL because every entry runs them and the ORM takes ten times as long to build them. They use the
database's time, so that the clocks of machines do not matter.
"""

import secrets
from collections.abc import Collection, Mapping
from copy import copy
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from core.text import json_text
from gateway.execution.stages import Superseded
from gateway.models import Batch, BatchEntry

LEASE = timedelta(seconds=10)  # an entry can be taken over if its runner does not renew the lease for this long
MAX_ATTEMPTS = 3  # a call that crashed its runner three times is not run again
SWEEP_LIMIT = 100  # rows per sweep

State, Outcome = BatchEntry.State, BatchEntry.Outcome
_ENTRY, _BATCH = BatchEntry._meta.db_table, Batch._meta.db_table

# SQL for now, and for now plus a number of seconds.
SQL_TIMES = {
    "postgresql": ("STATEMENT_TIMESTAMP()", "STATEMENT_TIMESTAMP() + %s * INTERVAL '1 second'"),
    "sqlite": (
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '+' || %s || ' seconds')",
    ),
}
# On PostgreSQL a concurrent claim skips the row that another one has locked; SQLite has a single writer.
_LOCK = {"postgresql": " FOR UPDATE SKIP LOCKED", "sqlite": ""}
# Do not wait for the disk: if PostgreSQL loses such a commit in a crash, the entry only runs again. A write has its own
# transaction, which does wait, also for all earlier commits.
_UNFLUSHED_SQL = {"postgresql": " AND set_config('synchronous_commit', 'off', true) = 'off'", "sqlite": ""}
_CLAIM_SQL = {
    vendor: f"UPDATE {_ENTRY} SET state = 'running', runner = %s, held_until = {later}, attempts = attempts + 1"  # noqa: S608
    f" WHERE id = (SELECT id FROM {_ENTRY} WHERE batch_id = %s AND attempts < %s {{among}}"
    f" AND ((state = 'pending' AND (SELECT runs_until FROM {_BATCH} WHERE id = %s) > {now})"
    f" OR (state = 'running' AND held_until < {now})){{unflushed}} ORDER BY \"index\" LIMIT 1{_LOCK[vendor]})"
    f' RETURNING id, "index", type, name, body, needs, attempts, (SELECT caller FROM {_BATCH} WHERE id = batch_id),'
    f" (SELECT api_key_id FROM {_BATCH} WHERE id = batch_id)"
    for vendor, (now, later) in SQL_TIMES.items()
}
_DONE_SQL = {
    vendor: f"UPDATE {_ENTRY} SET state = 'done', outcome = %s, answer = %s, finished_at = {now}, runner = '',"  # noqa: S608
    " held_until = NULL WHERE "
    for vendor, (now, _) in SQL_TIMES.items()
}


def claim_entry(batch: Batch, indexes: Collection[int] | None = None) -> BatchEntry | None:
    """Lease the first available entry, only of `indexes` if given. Return it, or None if there is none.

    The entry's batch has the latest caller, who may have confirmed on behalf of the end user. No entry starts after the
    batch's time limit. An entry whose runner was lost has already started and is claimed even then: only another run
    can find out what it did.
    """
    if indexes is not None and not indexes:
        return None
    runner = secrets.token_hex(16)
    index_filter = "" if indexes is None else f'AND "index" IN ({", ".join(["%s"] * len(indexes))})'
    id = _adapt_batch_id(batch)
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM_SQL[connection.vendor].format(among=index_filter, unflushed=_build_unflushed_condition()),
            [runner, LEASE.total_seconds(), id, MAX_ATTEMPTS, *(indexes or ()), id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    pk, index, type, name, body, needs, attempts, caller, api_key = row
    batch = copy(batch)
    batch.caller, batch.api_key_id = json_text.load(caller), api_key
    return BatchEntry(
        pk=pk,
        batch=batch,
        index=index,
        type=type,
        name=name,
        body=json_text.load(body),
        needs=json_text.load(needs),
        state=State.RUNNING,
        runner=runner,
        attempts=attempts,
    )


def renew_leases(runners: list[str]) -> None:
    """Renew the leases of these runners."""
    BatchEntry.objects.filter(runner__in=runners, state=State.RUNNING).update(held_until=Now() + LEASE)


def extend_lease(entry: BatchEntry, milliseconds: int) -> None:
    """Extend a lease, so that nobody runs the entry in the meantime; then it counts as lost."""
    lease = BatchEntry.objects.filter(pk=entry.pk, state=State.RUNNING, runner=entry.runner)
    lease.update(held_until=Now() + timedelta(milliseconds=milliseconds))


def find_lost_entries() -> list[BatchEntry]:
    """Return running entries whose lease has expired."""
    is_expired = Q(state=State.RUNNING, held_until__lt=Now())
    # The condition repeats that of the partial index: SQLite uses the index only if the text matches.
    return list(
        BatchEntry.objects.filter(~Q(state=State.DONE), is_expired).order_by().select_related("batch")[:SWEEP_LIMIT]
    )


def finish_entry(entry: BatchEntry, envelope: Mapping[str, Any]) -> None:
    """Store the envelope of an entry, in the open transaction if there is one.

    Raises Superseded if another runner has taken over the entry.
    """
    outcome = Outcome.SUCCEEDED if envelope["ok"] else Outcome.FAILED
    if not _mark_done(outcome, envelope, "id = %s AND state = 'running' AND runner = %s", [entry.pk, entry.runner]):
        raise Superseded(f"{entry} was taken over by another runner")


def close_entries(batch: Batch, envelopes: Mapping[int, Mapping[str, Any]]) -> int:
    """Store envelopes of entries that have not started, by index. Return how many were closed.

    In a transaction, which waits for the disk: an entry that was reported as cancelled must never run.
    """
    condition = "batch_id = %s AND \"index\" = %s AND state = 'pending'"
    with transaction.atomic():
        return sum(
            _mark_done(Outcome.SKIPPED, envelope, condition, [_adapt_batch_id(batch), index])
            for index, envelope in envelopes.items()
        )


def _mark_done(outcome: str, envelope: Mapping[str, Any], condition: str, parameters: list[Any]) -> int:
    """Mark the entries that match an SQL condition as done. Return how many they were."""
    statement = _DONE_SQL[connection.vendor] + condition + _build_unflushed_condition()
    with connection.cursor() as cursor:
        cursor.execute(statement, [outcome, json_text.dump(envelope).decode(), *parameters])
        return int(cursor.rowcount)


def _build_unflushed_condition() -> str:
    """Return the SQL that lets a single statement commit without waiting for the disk; empty inside a transaction."""
    return "" if connection.in_atomic_block else _UNFLUSHED_SQL[connection.vendor]


def _adapt_batch_id(batch: Batch) -> Any:
    """Return a batch's id in the form the database expects."""
    return BatchEntry._meta.get_field("batch").get_db_prep_value(batch.pk, connection)
