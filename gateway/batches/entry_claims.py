"""Claims of batch entries: which runner runs an entry. The leases are those of all work (`core.background.leases`).

The statements are raw SQL because every entry runs them and the ORM takes ten times as long to build them. They use the
database's time, so that the clocks of machines do not matter.
"""

from collections.abc import Collection, Mapping
from copy import copy
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q

from core.background import leases
from core.text import json_text
from gateway.execution.stages import Superseded
from gateway.models import Batch, BatchEntry

LEASE = timedelta(seconds=10)  # an entry can be taken over if its runner does not extend the lease for this long
MAX_ATTEMPTS = 3  # a call that crashed its runner three times is not run again
SWEEP_LIMIT = 100  # rows per sweep

State, Outcome = BatchEntry.State, BatchEntry.Outcome
_ENTRY, _BATCH = BatchEntry._meta.db_table, Batch._meta.db_table

# Do not wait for the disk: if PostgreSQL loses such a commit in a crash, the entry only runs again. A write has its own
# transaction, which does wait, also for all earlier commits.
_UNFLUSHED_SQL = {"postgresql": " AND set_config('synchronous_commit', 'off', true) = 'off'", "sqlite": ""}
_CLAIM_SQL = {
    vendor: leases.build_claim_sql(
        BatchEntry,
        f"SELECT id FROM {_ENTRY} WHERE batch_id = %s AND attempts < %s {{among}}"  # noqa: S608 - no value is in the text
        f" AND ((state = 'pending' AND (SELECT runs_until FROM {_BATCH} WHERE id = %s) > {now})"
        f" OR (state = 'running' AND held_until < {now})){{unflushed}} ORDER BY \"index\" LIMIT 1",
        vendor=vendor,
        changes="state = 'running', ",
        returning='id, "index", type, name, body, needs, attempts,'  # noqa: S608 - likewise
        f" (SELECT caller FROM {_BATCH} WHERE id = batch_id),"
        f" (SELECT api_key_id FROM {_BATCH} WHERE id = batch_id)",
    )
    for vendor, (now, _) in leases.SQL_TIMES.items()
}
_DONE_SQL = {
    vendor: f"UPDATE {_ENTRY} SET state = 'done', outcome = %s, answer = %s, finished_at = {now}, runner = '',"  # noqa: S608
    " held_until = NULL WHERE "
    for vendor, (now, _) in leases.SQL_TIMES.items()
}


def claim_entry(batch: Batch, indexes: Collection[int] | None = None) -> BatchEntry | None:
    """Lease the first available entry, only of `indexes` if given. Return it, or None if there is none.

    The entry's batch has the latest caller, who may have confirmed on behalf of the end user. No entry starts after the
    batch's time limit. An entry whose runner was lost has already started and is claimed even then: only another run
    can find out what it did.
    """
    if indexes is not None and not indexes:
        return None
    holder = leases.create_holder()
    index_filter = "" if indexes is None else f'AND "index" IN ({", ".join(["%s"] * len(indexes))})'
    id = _adapt_batch_id(batch)
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM_SQL[connection.vendor].format(among=index_filter, unflushed=_build_unflushed_condition()),
            [holder, LEASE.total_seconds(), id, MAX_ATTEMPTS, *(indexes or ()), id],
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
        holder=holder,
        attempts=attempts,
    )


def find_lost_entries() -> list[BatchEntry]:
    """Return running entries whose lease has expired."""
    # The condition repeats that of the partial index: SQLite uses the index only if the text matches.
    running = BatchEntry.objects.filter(~Q(state=State.DONE), state=State.RUNNING)
    return list(running.filter(leases.ENDED).order_by().select_related("batch")[:SWEEP_LIMIT])


def finish_entry(entry: BatchEntry, envelope: Mapping[str, Any]) -> None:
    """Store the envelope of an entry, in the open transaction if there is one.

    Raises Superseded if another runner has taken over the entry.
    """
    outcome = Outcome.SUCCEEDED if envelope["ok"] else Outcome.FAILED
    if not _mark_done(outcome, envelope, "id = %s AND state = 'running' AND runner = %s", [entry.pk, entry.holder]):
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
