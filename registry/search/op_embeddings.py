"""The vectors of a catalog's ops from the embeddings endpoint: stored by text, loaded with the catalog.

A thread in each process that serves a catalog without vectors writes down the texts that are new, and sends them to the
endpoint. The processes share the work. Until all ops of a catalog have vectors, its search ranks without them.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np
from django.db import DatabaseError, connection
from django.db.models import Q, QuerySet
from django.db.models.functions import Length, Now
from django.utils import timezone

from core.background import leases
from core.database.deadlines import Deadline
from registry.catalog.model import CatalogOp
from registry.models import OpEmbedding
from registry.search import embeddings_endpoint
from registry.search.embeddings_endpoint import EmbeddingsFailed, TextsFailed
from registry.search.word_vectors import Floats

log = logging.getLogger(__name__)

MAX_TEXT = 2_000  # characters of an op's text; small models read about 500 tokens
BATCH_SIZE = 32  # texts per request: text-embeddings-inference refuses more unless it is configured
BATCH_TIMEOUT_MS = 60_000
PROBE = "List tasks"  # a text that any endpoint accepts, to tell a refused text from an endpoint that refuses all
LEASE = timedelta(minutes=2)  # after which another process may send a text again
REFUSED = timedelta(days=7)  # after which a text that was refused is sent once more
KEPT = timedelta(days=90)  # since a process last loaded it
POLL_SECONDS = 5.0  # between two checks for missing vectors
MAX_PAUSE_SECONDS = 300.0  # the pause doubles with each failure, up to this
SIZE_SECONDS = 3_600.0  # between two changes of the size of vectors, each of which sends all texts again
QUERY_SIZE = 500  # hashes per query
STORED = np.dtype("<f2")  # float16

_EPOCH = datetime.fromtimestamp(0, UTC)

_sender_lock = threading.Lock()
_pause = POLL_SECONDS
_next_run = 0.0


class _Row(NamedTuple):
    """A stored text, without its text and vector."""

    size: int | None  # numbers in the vector
    held_until: datetime | None
    refused_at: datetime | None

    def must_be_sent(self, size: int, at: datetime) -> bool:
        """Return whether the text needs a vector of this size."""
        if self.size:
            return self.size != size
        return self.refused_at is None or self.refused_at <= at - REFUSED


class OpEmbeddings:
    """The vectors of some ops, in their order. `vectors` is None until all of them are there.

    An op whose text the endpoint refused gets the mean of all vectors, so it neither gains nor loses by its meaning.
    """

    def __init__(self, ops: Sequence[CatalogOp]) -> None:
        self.vectors: Floats | None = None
        self._ops = ops
        self._size = 0  # of the vectors that the endpoint gives, if requests have shown that it has changed
        self._next_size_change = 0.0

    @property
    def is_incomplete(self) -> bool:
        """Whether vectors are missing and the endpoint is on."""
        return embeddings_endpoint.is_enabled() and bool(self._ops) and self.vectors is None

    def load_stored(self) -> None:
        """Load the vectors if all are stored. A catalog is also served without them: no database error is raised."""
        if not self.is_incomplete:
            return
        try:
            self.load()
        except DatabaseError as error:
            log.warning("embeddings.not_loaded error=%s", type(error).__name__)

    def load(self) -> dict[str, str]:
        """Load the vectors if all are stored. Return the texts without vectors, by key. Forgets other sizes."""
        rows = _read_rows(self._keys)
        size, self._size = self._size or _find_latest_size(rows.values()), 0
        _delete_other_sizes(rows, size)
        at = timezone.now()
        missing = {
            key: build_text(op)
            for key, op in zip(self._keys, self._ops, strict=True)
            if key not in rows or rows[key].must_be_sent(size, at)
        }
        if not missing:
            self.vectors = _arrange_vectors(self._keys, _load_vectors(self._keys))
        return missing

    def change_size(self, size: int) -> None:
        """Mark all texts to be embedded again, because the endpoint now returns vectors of another size."""
        if self.vectors is None or time.monotonic() < self._next_size_change:
            return
        self._next_size_change = time.monotonic() + SIZE_SECONDS
        self._size, self.vectors = size, None

    @cached_property
    def _keys(self) -> list[str]:
        space = embeddings_endpoint.describe_space()
        return [hash_text(space, build_text(op)) for op in self._ops]


def build_text(op: CatalogOp) -> str:
    """Return the text of an op that is sent to the endpoint, the most important first: small models cut it."""
    name = op.tool_name.replace("_", " ")
    return f"{name}. {op.summary}. {op.description} {', '.join(op.keywords)}"[:MAX_TEXT]


def hash_text(space: str, text: str) -> str:
    """Return the key of a text's vector in a space (see `embeddings_endpoint.describe_space`)."""
    return hashlib.sha256(f"{space}\n{text}".encode()).hexdigest()


def start_sending_when_due(embeddings: Sequence[OpEmbeddings]) -> None:
    """Start a thread that completes those with missing vectors, every few seconds, less often while it fails.

    The poller calls this. It makes no query, because releases wait for the poller.
    """
    incomplete = [each for each in embeddings if each.is_incomplete]
    if incomplete and time.monotonic() >= _next_run and _sender_lock.acquire(blocking=False):
        threading.Thread(target=_complete_all, args=[incomplete], name="embeddings", daemon=True).start()


def complete(embeddings: OpEmbeddings) -> None:
    """Send the texts that have no vector, and load the vectors if all are there. Raises EmbeddingsFailed."""
    missing = embeddings.load()
    if not missing:
        return
    _insert_absent(missing)
    sent = _send_texts(missing)
    if sent & embeddings.load().keys():
        raise EmbeddingsFailed("vectors of several sizes")


def delete_unused(at: datetime) -> bool:
    """Delete vectors that no process has loaded for a long time. A text that comes back is sent again."""
    OpEmbedding.objects.filter(used_at__lt=at - KEPT).delete()
    return False


def _complete_all(incomplete: Sequence[OpEmbeddings]) -> None:
    global _pause, _next_run
    pause = min(_pause * 2, MAX_PAUSE_SECONDS)
    try:
        for each in incomplete:
            complete(each)
        pause = POLL_SECONDS
    except (EmbeddingsFailed, DatabaseError) as error:
        reason = error if isinstance(error, EmbeddingsFailed) else type(error).__name__
        log.warning("embeddings.failed reason=%s retry_in_s=%d", reason, pause)
    finally:
        _pause, _next_run = pause, time.monotonic() + pause
        connection.close()
        _sender_lock.release()


def _send_texts(texts: Mapping[str, str]) -> set[str]:
    """Send texts in batches, except those that another process sends. Return the keys of those that have vectors now.

    Raises EmbeddingsFailed.
    """
    sent: set[str] = set()
    for keys in _split_into_batches(list(texts), BATCH_SIZE):
        holder, claimed = _claim(keys)
        try:
            sent |= _send_batch({key: texts[key] for key in claimed}, holder)
        except EmbeddingsFailed:
            OpEmbedding.objects.filter(pk__in=claimed, holder=holder).update(holder="", held_until=None)
            raise
    return sent


def _send_batch(batch: Mapping[str, str], holder: str) -> set[str]:
    """Send a batch, in smaller ones if that fails. Return the keys of those that have vectors now."""
    if not batch:
        return set()
    keys = list(batch)
    OpEmbedding.objects.filter(pk__in=keys, holder=holder).update(held_until=Now() + LEASE)
    try:
        vectors = _request_vectors(list(batch.values()))
    except TextsFailed as error:
        if len(keys) == 1:
            _mark_refused(keys[0], error)
            return set()
        halves = _split_into_batches(keys, (len(keys) + 1) // 2)
        return set().union(*(_send_batch({key: batch[key] for key in half}, holder) for half in halves))
    rows = [
        OpEmbedding(text_hash=key, text="", vector=vector.astype(STORED).tobytes())
        for key, vector in zip(keys, vectors, strict=True)
    ]
    OpEmbedding.objects.bulk_update(rows, ["text", "vector", "refused_at", "holder"])
    return set(keys)


def _mark_refused(key: str, error: TextsFailed) -> None:
    """Mark a text that fails alone. Raises EmbeddingsFailed if the endpoint fails for every text."""
    _request_vectors([PROBE])
    OpEmbedding.objects.filter(pk=key, vector=None).update(refused_at=timezone.now(), holder="")
    log.warning("embeddings.text_refused text_hash=%s reason=%s retry_in_days=%d", key, error, REFUSED.days)


def _request_vectors(texts: Sequence[str]) -> Floats:
    """Return the vectors of texts. Others may use the database connection while the endpoint computes."""
    if not connection.in_atomic_block:
        connection.close()
    return embeddings_endpoint.embed_texts(texts, deadline=Deadline.after(milliseconds=BATCH_TIMEOUT_MS))


def _claim(keys: Sequence[str]) -> tuple[str, list[str]]:
    """Lease the texts that this process sends now. Return the holder and their keys. Another process skips them."""
    may_be_sent = Q(refused_at=None) | Q(refused_at__lte=timezone.now() - REFUSED)
    free = OpEmbedding.objects.filter(leases.FREE & may_be_sent, pk__in=keys, vector=None)
    if not free.exists():
        return "", []
    lease = leases.begin(LEASE)
    free.update(**lease)
    claimed = OpEmbedding.objects.filter(pk__in=keys, holder=lease["holder"])
    return lease["holder"], list(claimed.values_list("pk", flat=True))


def _read_rows(keys: Sequence[str]) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for some in _split_into_batches(keys, QUERY_SIZE):
        stored = _filter_keys(some).annotate(bytes=Length("vector"))
        for key, length, held_until, refused_at in stored.values_list("pk", "bytes", "held_until", "refused_at"):
            rows[key] = _Row(length and length // STORED.itemsize, held_until, refused_at)
    return rows


def _find_latest_size(rows: Collection[_Row]) -> int:
    """Return the size of the vector that the endpoint gave last; 0 if there is none."""
    latest = max(rows, key=lambda row: (bool(row.size), row.held_until or _EPOCH), default=None)
    return (latest and latest.size) or 0


def _delete_other_sizes(rows: Mapping[str, _Row], size: int) -> None:
    """Delete vectors of another size than the endpoint gives now: its model has changed under the same name."""
    keys = [key for key, row in rows.items() if row.size and row.size != size]
    if not keys:
        return
    log.warning("embeddings.size_changed size=%d deleted=%d", size, len(keys))
    for some in _split_into_batches(keys, QUERY_SIZE):
        _filter_keys(some).alias(bytes=Length("vector")).exclude(bytes=size * STORED.itemsize).delete()


def _load_vectors(keys: Sequence[str]) -> dict[str, Floats]:
    """Return the stored vectors by key, and remember that they are in use."""
    found: dict[str, Floats] = {}
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for some in _split_into_batches(keys, QUERY_SIZE):
        rows = _filter_keys(some)
        for key, vector in rows.exclude(vector=None).values_list("pk", "vector"):
            found[key] = np.frombuffer(cast("bytes", vector), dtype=STORED).astype(np.float32)
        rows.filter(used_at__lt=today).update(used_at=today)
    return found


def _arrange_vectors(keys: Sequence[str], stored: Mapping[str, Floats]) -> Floats | None:
    """Return the vectors of keys, shape (keys, size), with the mean for those that have none.

    None if all have none, or if another process is replacing them by vectors of another size.
    """
    if len({vector.shape for vector in stored.values()}) != 1:
        return None
    mean = np.mean(list(stored.values()), axis=0)
    return np.array([stored.get(key, mean) for key in keys], dtype=np.float32)


def _insert_absent(texts: Mapping[str, str]) -> None:
    now = timezone.now()
    for some in _split_into_batches(list(texts), QUERY_SIZE):
        present = set(_filter_keys(some).values_list("pk", flat=True))
        rows = [OpEmbedding(text_hash=key, text=texts[key], used_at=now) for key in some if key not in present]
        OpEmbedding.objects.bulk_create(rows, ignore_conflicts=True)


def _filter_keys(keys: Sequence[str]) -> QuerySet[OpEmbedding]:
    return OpEmbedding.objects.filter(pk__in=keys)


def _split_into_batches(keys: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]
