"""The rows of batches. Whoever runs an entry has claimed it by an update that only one can win, and holds it for a
few seconds at a time: a runner that dies lets go, and another one takes the entry over.

Times by which runners are judged are the database's, so that no machine's clock matters.
"""

import secrets
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now

from core import canonical
from gateway.batches.plans import Plan, Standing
from gateway.callers import Caller
from gateway.calls import Superseded
from gateway.errors import Conflict
from gateway.models import Batch, BatchEntry
from registry.catalogs import Catalog

KNOWN = 100  # batches that a process remembers, so that not each of their entries asks again
AT_ONCE = 100  # rows that one sweep looks at
QUIET = timedelta(seconds=3)  # that a message may take before it counts as lost
HELD = timedelta(seconds=10)  # without a sign of life from its runner an entry is another's after that
AWAY = (OperationalError, InterfaceError)  # what a database that is restarted raises
ATTEMPTS = 3  # a call that takes its runner down with it is not given to a fourth

State, Outcome = BatchEntry.State, BatchEntry.Outcome
_OPEN = ~Q(state=State.DONE)  # as the index of what is open says it: SQLite compares words
_LOST = Q(state=State.RUNNING, held_until__lt=Now())

# The claim is on the way of every entry and the ORM takes ten times as long to write it: by hand, with the database's
# time as Django writes it. All conditions are on the row itself: PostgreSQL checks them anew when it has waited for
# another claim.
_TIMES = {
    "postgresql": ("STATEMENT_TIMESTAMP()", "STATEMENT_TIMESTAMP() + %s * INTERVAL '1 second'"),
    "sqlite": (
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW')",
        "STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f', 'NOW', '+' || %s || ' seconds')",
    ),
}
_CLAIM = {
    vendor: f"UPDATE {BatchEntry._meta.db_table} SET state = 'running', runner = %s, held_until = {later},"  # noqa: S608
    f' attempts = attempts + 1 WHERE batch_id = %s AND "index" = %s AND attempts < %s AND'
    f" ((state = 'pending' AND %s > {now}) OR (state = 'running' AND held_until < {now}))"
    " RETURNING id, type, name, body, needs, attempts"
    for vendor, (now, later) in _TIMES.items()
}


def create(
    plan: Plan, caller: Caller, catalog: Catalog, *, trace_id: str, at: datetime, runs_for: timedelta
) -> tuple[Batch, bool]:
    """Keep a batch with its entries and return it; under a key that was used before, that batch and False.

    It runs under the release of `catalog`. Raises Conflict (422) where the key was used for another body.
    """
    batch = Batch(
        client_id=caller.key.client_id,
        api_key_id=caller.key.id,
        subject=caller.subject,
        caller={
            "session": caller.session,
            "turn": caller.turn,
            "context": asdict(caller.context),
            "confirmation": caller.confirmation,
        },
        release=catalog.version,
        mode=plan.mode,
        stop_on_error=plan.stop_on_error,
        key=plan.key or "",
        fingerprint=_fingerprint(plan),
        trace_id=trace_id,
        created_at=at,
        runs_until=at + runs_for,
        woken_at=at,
        expires_at=at + timedelta(hours=settings.GATEWAY_BATCH_HOURS),
    )
    with transaction.atomic():
        if batch.key:
            _of_key(batch).filter(expires_at__lte=at).delete()
        Batch.objects.bulk_create([batch], ignore_conflicts=bool(batch.key))
        first = _of_key(batch).get() if batch.key else batch
        if first.pk == batch.pk:
            BatchEntry.objects.bulk_create(
                BatchEntry(
                    batch=batch,
                    index=index,
                    type=each.type,
                    name=op.op if (op := catalog.find(each.name)) else each.name[:200],
                    body=each.body,
                    needs=each.needs,
                )
                for index, each in enumerate(plan.entries)
            )
    if first.fingerprint != batch.fingerprint:
        raise Conflict(
            "This idempotency key was used for another batch. Send a new key with a new batch.",
            status=422,
            reason="idempotency_key_reused",
        )
    return first, first.pk == batch.pk


def find(id: UUID, caller: Caller) -> Batch | None:
    """Return a batch of the caller's client and subject."""
    return Batch.objects.filter(pk=id, client_id=caller.key.client_id, subject=caller.subject).first()


def standings(batch: Batch) -> list[Standing]:
    """Return how far the entries are, in their order: one that was lost waits again. One query."""
    state = Case(When(_LOST, then=Value(State.PENDING)), default="state")
    rows = BatchEntry.objects.filter(batch=batch).order_by("index")
    return [Standing(*row) for row in rows.values_list("index", state, "outcome", "needs")]


@lru_cache(maxsize=KNOWN)
def known(id: UUID) -> Batch:
    """Return a batch as it was taken: what it says of its entries never changes. Raises Batch.DoesNotExist."""
    return Batch.objects.get(pk=id)


@lru_cache(maxsize=KNOWN)
def any_depends(id: UUID) -> bool:
    """Whether an entry of a batch depends on another one."""
    return BatchEntry.objects.filter(batch=id).exclude(needs=[]).exists()


def claim(batch: Batch, index: int) -> BatchEntry | None:
    """Hold an entry that nobody holds; None where somebody does, or it is done, or it is too late to begin.

    One whose runner was lost has begun: it is never too late for it, nor is it cancelled, for only its next run can
    tell what became of it.
    """
    runner = secrets.token_hex(16)
    vendor = connection.vendor
    moment = connection.ops.adapt_datetimefield_value(batch.runs_until)
    id = BatchEntry._meta.get_field("batch").get_db_prep_value(batch.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM[vendor], [runner, HELD.total_seconds(), id, index, ATTEMPTS, moment])
        row = cursor.fetchone()
    if row is None:
        return None
    pk, type, name, body, needs, attempts = row
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


def note_cancelled(batch: Batch, *, at: datetime) -> None:
    """Write down that a batch was cancelled, once."""
    batch.cancelled_at = batch.cancelled_at or at
    Batch.objects.filter(pk=batch.pk, cancelled_at=None).update(cancelled_at=at)


def lost() -> list[BatchEntry]:
    """Return entries whose runner gave no sign of life in time."""
    return list(BatchEntry.objects.filter(_OPEN, _LOST).order_by().select_related("batch")[:AT_ONCE])


def late() -> list[Batch]:
    """Return batches whose time is over and that have entries which nobody has begun."""
    return list(_waiting().filter(runs_until__lte=Now())[:AT_ONCE])


def forgotten(at: datetime) -> list[Batch]:
    """Return batches that wait though workers were told some time ago, and that are the caller's to tell of again.

    The longer a batch waits, the more seldom: workers that are busy need no reminder.
    """
    waiting = _waiting().filter(woken_at__lt=at - QUIET, runs_until__gt=at)[:AT_ONCE]
    quiet = [batch for batch in waiting if at - batch.woken_at >= (batch.woken_at - batch.created_at) / 2]
    return [batch for batch in quiet if Batch.objects.filter(pk=batch.pk, woken_at=batch.woken_at).update(woken_at=at)]


def hold(runners: list[str]) -> None:
    """Hold on to the entries of runners that live."""
    BatchEntry.objects.filter(runner__in=runners, state=State.RUNNING).update(held_until=Now() + HELD)


def finish(entry: BatchEntry, envelope: Mapping[str, Any]) -> None:
    """Store what an entry is answered, in the open transaction if there is one. Raises Superseded."""
    held = BatchEntry.objects.filter(pk=entry.pk, state=State.RUNNING, runner=entry.runner)
    outcome = Outcome.SUCCEEDED if envelope["ok"] else Outcome.FAILED
    if not held.update(**_done(outcome, envelope)):
        raise Superseded(f"{entry} is another's")


def close(batch: Batch, envelopes: Mapping[int, Mapping[str, Any]]) -> int:
    """Answer entries that nobody has begun, by index; return how many there were."""
    closed = 0
    for index, envelope in envelopes.items():
        pending = BatchEntry.objects.filter(batch=batch, index=index, state=State.PENDING)
        closed += pending.update(**_done(Outcome.SKIPPED, envelope))
    return closed


def put_off(entry: BatchEntry, milliseconds: int) -> None:
    """Have nobody run an entry for so long; then it counts as lost."""
    held = BatchEntry.objects.filter(pk=entry.pk, state=State.RUNNING, runner=entry.runner)
    held.update(held_until=Now() + timedelta(milliseconds=milliseconds))


def envelopes(batch: Batch, indexes: list[int]) -> dict[int, Any]:
    """Return what entries that are done were answered, by index."""
    rows = BatchEntry.objects.filter(batch=batch, index__in=indexes, state=State.DONE)
    return {index: orjson.loads(answer) for index, answer in rows.values_list("index", "answer")}


def _waiting() -> Any:
    """Return the batches that have entries which nobody has begun, the oldest first."""
    pending = BatchEntry.objects.filter(_OPEN, state=State.PENDING)
    return Batch.objects.filter(pk__in=pending.order_by().values("batch")).order_by("created_at")


def _done(outcome: str, envelope: Mapping[str, Any]) -> dict[str, Any]:
    answer = orjson.dumps(envelope).decode()
    return {
        "state": State.DONE,
        "outcome": outcome,
        "answer": answer,
        "finished_at": Now(),
        "runner": "",
        "held_until": None,
    }


def _of_key(batch: Batch) -> Any:
    return Batch.objects.filter(client_id=batch.client_id, subject=batch.subject, key=batch.key)


def _fingerprint(plan: Plan) -> str:
    entries = [[each.type, each.body, each.needs] for each in plan.entries]
    return canonical.digest({"entries": entries, "mode": plan.mode, "stop_on_error": plan.stop_on_error})
