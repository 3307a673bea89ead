"""Who runs an entry. A runner has claimed it by an update that only one can win, and holds it for a few seconds at a
time: one that dies lets go, and another takes the entry over.

These statements are on the way of every entry, and the ORM takes ten times as long to write them: by hand, with the
database's time as Django writes it, so that no machine's clock matters.
"""

import secrets
from collections.abc import Collection, Mapping
from copy import copy
from datetime import timedelta
from typing import Any

import orjson
from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from gateway.calls import Superseded
from gateway.models import Batch, BatchEntry

HELD = timedelta(seconds=10)  # without a sign of life from its runner an entry is another's after that
ATTEMPTS = 3  # a call that takes its runner down with it is not given to a fourth
AT_ONCE = 100  # rows that one sweep looks at

State, Outcome = BatchEntry.State, BatchEntry.Outcome
_ENTRY, _BATCH = BatchEntry._meta.db_table, Batch._meta.db_table

# This moment, and one so many seconds from it.
TIMES = {
    "postgresql": ("STATEMENT_TIMESTAMP()", "STATEMENT_TIMESTAMP() + %s * INTERVAL '1 second'"),
    "sqlite": (
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '+' || %s || ' seconds')",
    ),
}
# Of two who claim at once on PostgreSQL the second passes over what the first one has locked; SQLite has one writer.
_LOCK = {"postgresql": " FOR UPDATE SKIP LOCKED", "sqlite": ""}
# Not waiting for the disk: what PostgreSQL forgets of this when it crashes is only run again. A write is in a
# transaction of its own, which waits, and for all that was before it.
_UNFLUSHED = {"postgresql": " AND set_config('synchronous_commit', 'off', true) = 'off'", "sqlite": ""}
_CLAIM = {
    vendor: f"UPDATE {_ENTRY} SET state = 'running', runner = %s, held_until = {later}, attempts = attempts + 1"  # noqa: S608
    f" WHERE id = (SELECT id FROM {_ENTRY} WHERE batch_id = %s AND attempts < %s {{among}}"
    f" AND ((state = 'pending' AND (SELECT runs_until FROM {_BATCH} WHERE id = %s) > {now})"
    f" OR (state = 'running' AND held_until < {now})){{unflushed}} ORDER BY \"index\" LIMIT 1{_LOCK[vendor]})"
    f' RETURNING id, "index", type, name, body, needs, attempts, (SELECT caller FROM {_BATCH} WHERE id = batch_id),'
    f" (SELECT api_key_id FROM {_BATCH} WHERE id = batch_id)"
    for vendor, (now, later) in TIMES.items()
}
_DONE = {
    vendor: f"UPDATE {_ENTRY} SET state = 'done', outcome = %s, answer = %s, finished_at = {now}, runner = '',"  # noqa: S608
    " held_until = NULL WHERE "
    for vendor, (now, _) in TIMES.items()
}


def claim(batch: Batch, among: Collection[int] | None = None) -> BatchEntry | None:
    """Hold the first entry that nobody holds, of some by index where they are given; None where there is none such.

    Its batch is told as it stands now: who sent it last, with which agreement of the end user. Nothing begins once the
    batch's time is over. One whose runner was lost has begun: it is never too late for it, for only its next run can
    tell what became of it.
    """
    if among is not None and not among:
        return None
    runner = secrets.token_hex(16)
    chosen = "" if among is None else f'AND "index" IN ({", ".join(["%s"] * len(among))})'
    id = _key(batch)
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM[connection.vendor].format(among=chosen, unflushed=_unflushed()),
            [runner, HELD.total_seconds(), id, ATTEMPTS, *(among or ()), id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    pk, index, type, name, body, needs, attempts, caller, api_key = row
    batch = copy(batch)
    batch.caller, batch.api_key_id = orjson.loads(caller), api_key
    return BatchEntry(
        pk=pk,
        batch=batch,
        index=index,
        type=type,
        name=name,
        body=orjson.loads(body),
        needs=orjson.loads(needs),
        state=State.RUNNING,
        runner=runner,
        attempts=attempts,
    )


def hold(runners: list[str]) -> None:
    """Hold on to the entries of runners that live."""
    BatchEntry.objects.filter(runner__in=runners, state=State.RUNNING).update(held_until=Now() + HELD)


def put_off(entry: BatchEntry, milliseconds: int) -> None:
    """Have nobody run an entry for so long; then it counts as lost."""
    held = BatchEntry.objects.filter(pk=entry.pk, state=State.RUNNING, runner=entry.runner)
    held.update(held_until=Now() + timedelta(milliseconds=milliseconds))


def lost() -> list[BatchEntry]:
    """Return entries whose runner gave no sign of life in time."""
    gone = Q(state=State.RUNNING, held_until__lt=Now())
    # That it is not done is said as the index of what is open says it: SQLite compares words.
    return list(BatchEntry.objects.filter(~Q(state=State.DONE), gone).order_by().select_related("batch")[:AT_ONCE])


def finish(entry: BatchEntry, envelope: Mapping[str, Any]) -> None:
    """Store what an entry is answered, in the open transaction if there is one. Raises Superseded."""
    outcome = Outcome.SUCCEEDED if envelope["ok"] else Outcome.FAILED
    if not _done(outcome, envelope, "id = %s AND state = 'running' AND runner = %s", [entry.pk, entry.runner]):
        raise Superseded(f"{entry} is another's")


def close(batch: Batch, envelopes: Mapping[int, Mapping[str, Any]]) -> int:
    """Answer entries that nobody has begun, by index; return how many there were.

    In a transaction, which waits for the disk: what was told to be cancelled never runs.
    """
    which = "batch_id = %s AND \"index\" = %s AND state = 'pending'"
    with transaction.atomic():
        return sum(
            _done(Outcome.SKIPPED, envelope, which, [_key(batch), index]) for index, envelope in envelopes.items()
        )


def _done(outcome: str, envelope: Mapping[str, Any], which: str, parameters: list[Any]) -> int:
    """Answer the entries of a condition and return how many they were."""
    statement = _DONE[connection.vendor] + which + _unflushed()
    with connection.cursor() as cursor:
        cursor.execute(statement, [outcome, orjson.dumps(envelope).decode(), *parameters])
        return int(cursor.rowcount)


def _unflushed() -> str:
    """Return the condition that has a statement not wait for the disk, where it is a transaction by itself."""
    return "" if connection.in_atomic_block else _UNFLUSHED[connection.vendor]


def _key(batch: Batch) -> Any:
    """Return a batch's id as the database takes it."""
    return BatchEntry._meta.get_field("batch").get_db_prep_value(batch.pk, connection)
