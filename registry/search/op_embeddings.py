"""The vectors of a catalog's ops from the embeddings endpoint: stored by text, loaded with the catalog.

A process that loads a catalog writes down the texts that have no vector yet. A thread of some process sends them to the
endpoint. Until all ops of a catalog have vectors, its search ranks without them.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import cast

import numpy as np
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import QuerySet
from django.utils import timezone

from core.deadlines import Deadline
from registry.catalog.model import CatalogOp
from registry.models import OpEmbedding
from registry.search import embeddings_endpoint
from registry.search.embeddings_endpoint import EmbeddingsFailed
from registry.search.word_vectors import Floats

log = logging.getLogger(__name__)

MAX_TEXT = 2_000  # characters of an op's text; small models read about 500 tokens
BATCH_SIZE = 64  # texts per request to the endpoint
BATCH_TIMEOUT_MS = 60_000
CLAIM = timedelta(minutes=2)  # after which another process may send a text again
KEPT = timedelta(days=90)  # since a process last loaded it
POLL_SECONDS = 5.0  # between two looks for texts to send, and for vectors that were missing
QUERY_SIZE = 500  # hashes per query
STORED = "<f2"  # float16

_sender_lock = threading.Lock()
_next_send = 0.0


class OpEmbeddings:
    """The vectors of some ops, in their order. `vectors` is None until all of them are there."""

    def __init__(self, ops: Sequence[CatalogOp]) -> None:
        self.vectors: Floats | None = None
        self._ops = ops
        self._model = ""
        self._next_look = 0.0

    def refresh(self) -> None:
        """Load the vectors if they are missing and the endpoint is on; write down the texts that have none.

        A catalog must be served without them, too, so no database error leaves this.
        """
        if not embeddings_endpoint.is_enabled() or not self._ops or time.monotonic() < self._next_look:
            return
        if self.vectors is not None and self._model == settings.SEARCH_EMBEDDINGS_MODEL:
            return
        self._next_look = time.monotonic() + POLL_SECONDS
        self._model = settings.SEARCH_EMBEDDINGS_MODEL
        try:
            self._load()
        except DatabaseError as error:
            log.warning("embeddings.not_loaded error=%s", type(error).__name__)

    def _load(self) -> None:
        texts = [build_text(op) for op in self._ops]
        keys = [hash_text(self._model, text) for text in texts]
        stored = _load_vectors(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in stored}
        _write_down(missing)
        # A model that was changed under the same name leaves vectors of two sizes: none of them is used.
        is_whole = not missing and len({vector.shape for vector in stored.values()}) == 1
        self.vectors = np.array([stored[key] for key in keys], dtype=np.float32) if is_whole else None


def build_text(op: CatalogOp) -> str:
    """Return the text of an op that is sent to the endpoint, the most important first: small models cut it."""
    name = op.tool_name.replace("_", " ")
    return f"{name}. {op.summary}. {op.description} {', '.join(op.keywords)}"[:MAX_TEXT]


def hash_text(model: str, text: str) -> str:
    """Return the key of a text's vector."""
    return hashlib.sha256(f"{model}\n{text}".encode()).hexdigest()


def start_sending_when_due() -> None:
    """Every few seconds, start a thread that sends the texts which wait for vectors, if there are any."""
    global _next_send
    if not embeddings_endpoint.is_enabled() or time.monotonic() < _next_send:
        return
    _next_send = time.monotonic() + POLL_SECONDS
    if _find_waiting(timezone.now()).exists() and _sender_lock.acquire(blocking=False):
        threading.Thread(target=_send_waiting, name="embeddings", daemon=True).start()


def delete_unused(at: datetime) -> bool:
    """Delete vectors that no process has loaded for long, as a periodic job. A text that comes back is sent again."""
    OpEmbedding.objects.filter(used_at__lt=at - KEPT).delete()
    return False


def send_waiting() -> int:
    """Send the texts that wait for vectors, a batch at a time. Returns how many got one. Raises EmbeddingsFailed."""
    count = 0
    while batch := _claim_batch(timezone.now()):
        vectors = embeddings_endpoint.embed_texts(
            [row.text for row in batch], deadline=Deadline.after(milliseconds=BATCH_TIMEOUT_MS)
        )
        for row, vector in zip(batch, vectors, strict=True):
            row.vector, row.text = vector.astype(STORED).tobytes(), ""
        OpEmbedding.objects.bulk_update(batch, ["vector", "text"])
        count += len(batch)
    return count


def _send_waiting() -> None:
    try:
        count = send_waiting()
        log.info("embeddings.stored texts=%d", count)
    except EmbeddingsFailed as error:
        log.warning("embeddings.failed reason=%s retry_in_s=%d", error, CLAIM.total_seconds())
    except DatabaseError as error:
        log.warning("embeddings.not_stored error=%s", type(error).__name__)
    finally:
        connection.close()
        _sender_lock.release()


def _find_waiting(at: datetime) -> QuerySet[OpEmbedding]:
    return OpEmbedding.objects.filter(vector=None).exclude(claimed_at__gt=at - CLAIM)


def _claim_batch(at: datetime) -> list[OpEmbedding]:
    """Return the texts that this process sends now. Another process skips them."""
    keys = list(_find_waiting(at).values_list("pk", flat=True)[:BATCH_SIZE])
    _find_waiting(at).filter(pk__in=keys).update(claimed_at=at)
    return list(OpEmbedding.objects.filter(pk__in=keys, claimed_at=at, vector=None))


def _load_vectors(keys: Sequence[str]) -> dict[str, Floats]:
    """Return the stored vectors by key, and remember that they are in use."""
    found: dict[str, Floats] = {}
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    for some in _split(keys):
        rows = OpEmbedding.objects.filter(pk__in=some)
        for key, vector in rows.exclude(vector=None).values_list("pk", "vector"):
            found[key] = np.frombuffer(cast("bytes", vector), dtype=STORED).astype(np.float32)
        rows.filter(used_at__lt=today).update(used_at=today)
    return found


def _write_down(texts: dict[str, str]) -> None:
    now = timezone.now()
    rows = [OpEmbedding(text_hash=key, text=text, used_at=now) for key, text in texts.items()]
    OpEmbedding.objects.bulk_create(rows, ignore_conflicts=True, batch_size=QUERY_SIZE)


def _split(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(keys), QUERY_SIZE):
        yield keys[start : start + QUERY_SIZE]
