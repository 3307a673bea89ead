"""The rows of batches and their entries.

All times are the database's, so that the clocks of machines do not matter.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Generic, TypeVar
from uuid import UUID

import orjson
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from core import canonical
from gateway.batches import holds
from gateway.batches.plans import LOST, Plan, Standing
from gateway.callers import Caller
from gateway.errors import Conflict
from gateway.models import Batch, BatchEntry
from registry.catalogs import Catalog

T = TypeVar("T")

KNOWN = 100  # batches cached per process, so that not every entry queries its batch
AT_ONCE = 100  # rows per sweep
QUIET = timedelta(seconds=3)  # time after which a message counts as lost
PATIENCE = 0.1  # seconds that a thread waits for another one that loads the same
AWAY = (OperationalError, InterfaceError)  # raised while the database is restarting

State = BatchEntry.State
_OPEN = ~Q(state=State.DONE)  # as in the partial index: SQLite uses the index only if the text matches
_STANDINGS = {  # raw SQL: a request that waits for a batch runs it many times a second
    vendor: f"SELECT \"index\", CASE WHEN state = 'running' AND held_until < {now} THEN '{LOST}' ELSE state END,"  # noqa: S608
    f' outcome FROM {BatchEntry._meta.db_table} WHERE batch_id = %s ORDER BY "index"'
    for vendor, (now, _) in holds.TIMES.items()
}


class _Remembered(Generic[T]):
    """Caches values of batches that never change. Concurrent threads load a value once."""

    def __init__(self, load: Callable[[UUID], T]) -> None:
        self._load = load
        self._kept: dict[UUID, T] = {}
        self._loading, self._keeping = Lock(), Lock()

    def __call__(self, id: UUID) -> T:
        if (found := self._kept.get(id)) is not None:
            return found
        # The timeout keeps threads from failing one after another while the database is down.
        is_first = self._loading.acquire(timeout=PATIENCE)
        try:
            if (found := self._kept.get(id)) is None:
                found = self.keep(id, self._load(id))
            return found
        finally:
            if is_first:
                self._loading.release()

    def keep(self, id: UUID, value: T) -> T:
        """Cache a value; drop the oldest one if the cache is full."""
        with self._keeping:
            if len(self._kept) >= KNOWN:
                del self._kept[next(iter(self._kept))]
            self._kept[id] = value
        return value


def now() -> datetime:
    """Return the database's time."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {holds.TIMES[connection.vendor][0]}", [])
        found = cursor.fetchone()[0]
    return found if isinstance(found, datetime) else datetime.fromisoformat(found).replace(tzinfo=UTC)


def create(plan: Plan, caller: Caller, catalog: Catalog, *, trace_id: str, runs_for: timedelta) -> tuple[Batch, bool]:
    """Save a batch with its entries and return (batch, True); the earlier batch and False if its key was used before.

    All entries use the release of `catalog`. Raises Conflict (422) if the key was used for another body.
    """
    at = now()
    batch = Batch(
        client_id=caller.key.client_id,
        api_key_id=caller.key.id,
        subject=caller.subject,
        caller=told_by(caller),
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
            needs.keep(batch.pk, [each.needs for each in plan.entries])
    if first.fingerprint != batch.fingerprint:
        raise Conflict(
            "This idempotency key was used for another batch. Send a new key with a new batch.",
            status=422,
            reason="idempotency_key_reused",
        )
    return first, first.pk == batch.pk


def told_by(caller: Caller) -> dict[str, Any]:
    """Return what a batch stores of its request's headers, apart from key and subject."""
    return {
        "session": caller.session,
        "turn": caller.turn,
        "context": asdict(caller.context),
        "confirmation": caller.confirmation,
        "model": caller.model,
        "served": asdict(caller.served),
    }


def find(id: UUID, caller: Caller) -> Batch | None:
    """Return a batch of the caller's client and subject, or None."""
    return Batch.objects.filter(pk=id, client_id=caller.key.client_id, subject=caller.subject).first()


def _load_batch(id: UUID) -> Batch:
    return Batch.objects.get(pk=id)


def _load_needs(id: UUID) -> list[list[int]]:
    return list(BatchEntry.objects.filter(batch=id).order_by("index").values_list("needs", flat=True))


known = _Remembered(_load_batch)  # the batch as created; raises Batch.DoesNotExist
needs = _Remembered(_load_needs)  # per entry, in order: the indexes it depends on


def standings(batch: Batch) -> list[Standing]:
    """Return the progress of all entries, in order. One query."""
    depends_on = needs(batch.pk)
    with connection.cursor() as cursor:
        cursor.execute(_STANDINGS[connection.vendor], [Batch._meta.pk.get_db_prep_value(batch.pk, connection)])
        rows = cursor.fetchall()
    return [Standing(index, state, outcome, depends_on[index]) for index, state, outcome in rows]


def note_cancelled(batch: Batch, *, at: datetime) -> None:
    """Record when a batch was cancelled; keep an earlier time."""
    batch.cancelled_at = batch.cancelled_at or at
    Batch.objects.filter(pk=batch.pk, cancelled_at=None).update(cancelled_at=at)


def is_late(batch: Batch) -> bool:
    """Whether a batch is past its time limit."""
    return Batch.objects.filter(pk=batch.pk, runs_until__lte=Now()).exists()


def late() -> list[Batch]:
    """Return batches past their time limit that have pending entries."""
    return list(_waiting().filter(runs_until__lte=Now())[:AT_ONCE])


def forgotten() -> list[Batch]:
    """Return batches with pending entries whose workers were notified some time ago, and record a new notification.

    Only one process gets each batch. The longer a batch waits, the rarer its notifications: busy workers need none.
    """
    at = now()
    waiting = _waiting().filter(woken_at__lt=at - QUIET, runs_until__gt=at)[:AT_ONCE]
    quiet = [batch for batch in waiting if at - batch.woken_at >= (batch.woken_at - batch.created_at) / 2]
    return [batch for batch in quiet if Batch.objects.filter(pk=batch.pk, woken_at=batch.woken_at).update(woken_at=at)]


def neglected() -> list[Batch]:
    """Return batches with pending entries of which no entry is running, though they were created a while ago."""
    held = BatchEntry.objects.filter(_OPEN, state=State.RUNNING, held_until__gt=Now())
    waiting = _waiting().filter(created_at__lt=Now() - QUIET, runs_until__gt=Now())
    return list(waiting.exclude(pk__in=held.order_by().values("batch"))[:AT_ONCE])


def envelopes(batch: Batch, indexes: list[int]) -> dict[int, Any]:
    """Return {index: envelope} of these entries that are done."""
    rows = BatchEntry.objects.filter(batch=batch, index__in=indexes, state=State.DONE)
    return {index: orjson.loads(answer) for index, answer in rows.values_list("index", "answer")}


def _waiting() -> Any:
    """Return the batches with pending entries, oldest first."""
    pending = BatchEntry.objects.filter(_OPEN, state=State.PENDING)
    return Batch.objects.filter(pk__in=pending.order_by().values("batch")).order_by("created_at")


def _of_key(batch: Batch) -> Any:
    return Batch.objects.filter(client_id=batch.client_id, subject=batch.subject, key=batch.key)


def _fingerprint(plan: Plan) -> str:
    entries = [[each.type, each.body, each.needs] for each in plan.entries]
    return canonical.digest({"entries": entries, "mode": plan.mode, "stop_on_error": plan.stop_on_error})
