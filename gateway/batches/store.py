"""The rows of batches and their entries.

All times are the database's, so that the clocks of machines do not matter.
"""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Q
from django.db.models.functions import Now

from core import tracing
from core.background import leases
from core.background.poller import PolledQuery
from core.text import json_text
from gateway.access.request_context import Caller
from gateway.batches.scheduling import LOST, BatchPlan, EntryState
from gateway.contracts.errors import ConflictError
from gateway.models import Batch, BatchEntry
from registry.catalog.model import Catalog

T = TypeVar("T")

CACHE_SIZE = 100  # batches cached per process, so that not every entry queries its batch
SWEEP_LIMIT = 100  # rows per sweep
NOTIFY_AFTER = timedelta(seconds=3)  # time after which a message counts as lost
LOAD_WAIT_SECONDS = 0.1  # seconds that a thread waits for another one that loads the same
DATABASE_DOWN_ERRORS = (OperationalError, InterfaceError)  # raised while the database is restarting

State = BatchEntry.State
_OPEN = ~Q(state=State.DONE)  # as in the partial index: SQLite uses the index only if the text matches
_open_entry_query = PolledQuery(lambda: BatchEntry.objects.filter(_OPEN).order_by().values_list("pk")[:1])
_ENTRY_STATES_SQL = {  # raw SQL: a request that waits for a batch runs it many times a second
    vendor: f"SELECT \"index\", CASE WHEN state = 'running' AND held_until < {now} THEN '{LOST}' ELSE state END,"  # noqa: S608
    f' outcome FROM {BatchEntry._meta.db_table} WHERE batch_id = %s ORDER BY "index"'
    for vendor, (now, _) in leases.SQL_TIMES.items()
}


class _BatchCache(Generic[T]):
    """Caches values of batches that never change. Concurrent threads load a value once."""

    def __init__(self, load: Callable[[UUID], T]) -> None:
        self._load = load
        self._values: dict[UUID, T] = {}
        self._loading, self._writing = Lock(), Lock()

    def __call__(self, id: UUID) -> T:
        if (value := self._values.get(id)) is not None:
            return value
        # The timeout keeps threads from failing one after another while the database is down.
        is_first = self._loading.acquire(timeout=LOAD_WAIT_SECONDS)
        try:
            if (value := self._values.get(id)) is None:
                value = self.put(id, self._load(id))
            return value
        finally:
            if is_first:
                self._loading.release()

    def put(self, id: UUID, value: T) -> T:
        """Cache a value; drop the oldest one if the cache is full."""
        with self._writing:
            if len(self._values) >= CACHE_SIZE:
                del self._values[next(iter(self._values))]
            self._values[id] = value
        return value


def get_database_time() -> datetime:
    """Return the database's time."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {leases.SQL_TIMES[connection.vendor][0]}", [])
        value = cursor.fetchone()[0]
    return value if isinstance(value, datetime) else datetime.fromisoformat(value).replace(tzinfo=UTC)


def create_batch(
    plan: BatchPlan, caller: Caller, catalog: Catalog, *, trace_id: str, runs_for: timedelta
) -> tuple[Batch, bool]:
    """Save a batch with its entries and return (batch, True); the earlier batch and False if its key was used before.

    All entries use the release of `catalog`. Raises ConflictError (422) if the key was used for another body.
    """
    at = get_database_time()
    batch = Batch(
        client_id=caller.key.client_id,
        api_key_id=caller.key.id,
        subject=caller.subject,
        caller=serialize_headers(caller),
        release=catalog.version,
        mode=plan.mode,
        stop_on_error=plan.stop_on_error,
        key=plan.key or "",
        fingerprint=_compute_fingerprint(plan, caller),
        trace_id=trace_id,
        created_at=at,
        runs_until=at + runs_for,
        woken_at=at,
        expires_at=at + timedelta(hours=settings.GATEWAY_BATCH_HOURS),
    )
    with transaction.atomic():
        if batch.key:
            _query_same_key(batch).filter(expires_at__lte=at).delete()
        Batch.objects.bulk_create([batch], ignore_conflicts=bool(batch.key))
        first = _query_same_key(batch).get() if batch.key else batch
        if first.pk == batch.pk:
            BatchEntry.objects.bulk_create(
                BatchEntry(
                    batch=batch,
                    index=index,
                    type=each.type,
                    name=op.op if (op := catalog.find_op(each.name)) else each.name[:200],
                    body=each.body,
                    needs=each.needs,
                )
                for index, each in enumerate(plan.entries)
            )
            get_cached_batch.put(batch.pk, batch)
            get_cached_needs.put(batch.pk, [each.needs for each in plan.entries])
    if first.fingerprint != batch.fingerprint:
        raise ConflictError(
            "This idempotency key was used for another batch. Send a new key with a new batch.",
            status=422,
            reason="idempotency_key_reused",
        )
    return first, first.pk == batch.pk


def serialize_headers(caller: Caller) -> dict[str, Any]:
    """Return what a batch stores of its request's headers, apart from key and subject."""
    return {
        "session": caller.session,
        "turn": caller.turn,
        "context": asdict(caller.context),
        "confirmation": caller.confirmation,
        "model": caller.model,
        "purpose": caller.purpose,
        "agent": caller.agent.name if caller.agent else "",
        "served": asdict(caller.routing),
        **tracing.build_headers(),
    }


def find_batch(id: UUID, caller: Caller) -> Batch | None:
    """Return a batch of the caller's client and subject, or None."""
    return Batch.objects.filter(pk=id, client_id=caller.key.client_id, subject=caller.subject).first()


def _load_batch(id: UUID) -> Batch:
    return Batch.objects.get(pk=id)


def _load_needs(id: UUID) -> list[list[int]]:
    return list(BatchEntry.objects.filter(batch=id).order_by("index").values_list("needs", flat=True))


get_cached_batch = _BatchCache(_load_batch)  # the batch as created; raises Batch.DoesNotExist
get_cached_needs = _BatchCache(_load_needs)  # per entry, in order: the indexes it depends on


def load_entry_states(batch: Batch) -> list[EntryState]:
    """Return the progress of all entries, in order. One query."""
    depends_on = get_cached_needs(batch.pk)
    with connection.cursor() as cursor:
        cursor.execute(_ENTRY_STATES_SQL[connection.vendor], [Batch._meta.pk.get_db_prep_value(batch.pk, connection)])
        rows = cursor.fetchall()
    return [EntryState(index, state, outcome, depends_on[index]) for index, state, outcome in rows]


def mark_cancelled(batch: Batch, *, at: datetime) -> None:
    """Record when a batch was cancelled; keep an earlier time."""
    batch.cancelled_at = batch.cancelled_at or at
    Batch.objects.filter(pk=batch.pk, cancelled_at=None).update(cancelled_at=at)


def is_overdue(batch: Batch) -> bool:
    """Whether a batch is past its time limit."""
    return Batch.objects.filter(pk=batch.pk, runs_until__lte=Now()).exists()


def has_open_entries() -> bool:
    """Return whether any entry of any batch has not ended."""
    return bool(_open_entry_query.fetch_rows())


def find_overdue() -> list[Batch]:
    """Return batches past their time limit that have pending entries."""
    return list(_query_pending_batches().filter(runs_until__lte=Now())[:SWEEP_LIMIT])


def find_unnotified() -> list[Batch]:
    """Return batches with pending entries whose workers were notified some time ago, and record a new notification.

    Only one process gets each batch. The longer a batch waits, the rarer its notifications: busy workers need none.
    """
    at = get_database_time()
    waiting = _query_pending_batches().filter(woken_at__lt=at - NOTIFY_AFTER, runs_until__gt=at)[:SWEEP_LIMIT]
    due = [batch for batch in waiting if at - batch.woken_at >= (batch.woken_at - batch.created_at) / 2]
    return [batch for batch in due if Batch.objects.filter(pk=batch.pk, woken_at=batch.woken_at).update(woken_at=at)]


def find_stalled() -> list[Batch]:
    """Return batches with pending entries of which no entry is running, though they were created a while ago."""
    leased = BatchEntry.objects.filter(_OPEN, state=State.RUNNING, held_until__gt=Now())
    waiting = _query_pending_batches().filter(created_at__lt=Now() - NOTIFY_AFTER, runs_until__gt=Now())
    return list(waiting.exclude(pk__in=leased.order_by().values("batch"))[:SWEEP_LIMIT])


def load_envelopes(batch: Batch, indexes: list[int]) -> dict[int, Any]:
    """Return {index: envelope} of these entries that are done."""
    rows = BatchEntry.objects.filter(batch=batch, index__in=indexes, state=State.DONE)
    return {index: json_text.load(answer) for index, answer in rows.values_list("index", "answer")}


def _query_pending_batches() -> Any:
    """Return the batches with pending entries, oldest first."""
    pending = BatchEntry.objects.filter(_OPEN, state=State.PENDING)
    return Batch.objects.filter(pk__in=pending.order_by().values("batch")).order_by("created_at")


def _query_same_key(batch: Batch) -> Any:
    return Batch.objects.filter(client_id=batch.client_id, subject=batch.subject, key=batch.key)


def _compute_fingerprint(plan: BatchPlan, caller: Caller) -> str:
    """Return a hash of all that decides what a batch does: an agent's batch is not the same without the agent."""
    entries = [[each.type, each.body, each.needs] for each in plan.entries]
    content = {"entries": entries, "mode": plan.mode, "stop_on_error": plan.stop_on_error}
    return json_text.hash_canonically(content | ({"agent": caller.agent.name} if caller.agent else {}))
