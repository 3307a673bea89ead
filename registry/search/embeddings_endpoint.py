"""Ask an OpenAI-compatible endpoint for the vectors of texts. Off unless SEARCH_EMBEDDINGS_URL is set.

https://platform.openai.com/docs/api-reference/embeddings
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from urllib.parse import urlsplit

import numpy as np
import orjson
from django.conf import settings

from core import http, overload
from core.database.deadlines import Deadline, DeadlineExceeded
from core.overload import THREE_IN_A_ROW, Overloaded
from registry.search import word_vectors
from registry.search.word_vectors import Floats

PATH = "/embeddings"
REQUEST_TIMEOUT_MS = 300  # for the vector of a request; the search waits that long
CACHED_REQUESTS = 2_000  # vectors per process, 6 kB each with 1,536 numbers
MAX_BYTES = 32_000_000  # of an answer
TEXT_STATUSES = frozenset(
    {400, 413, 422}
)  # about the texts: too many or too long. Others are about the endpoint or the key


class EmbeddingsFailed(Exception):
    """The endpoint gave no vectors. The message says why, without its key."""


class TextsFailed(EmbeddingsFailed):
    """Fewer or other texts may succeed. It took too long, or the status is 500, llama.cpp's answer to a long text."""


class TextsRefused(TextsFailed):
    """The endpoint works, but does not accept these texts."""


def is_enabled() -> bool:
    """Return whether an endpoint is configured."""
    return bool(settings.SEARCH_EMBEDDINGS_URL)


def clear_state() -> None:
    """Forget cached vectors, as in a new process."""
    _embed_cached.cache_clear()


def describe_space() -> str:
    """Return what a text's vector depends on: the endpoint's address without anything secret, and the model.

    Vectors of two spaces must never be compared, even if they have the same size.
    """
    parts = urlsplit(http.build_endpoint_url(settings.SEARCH_EMBEDDINGS_URL, PATH))
    return f"{parts.hostname}:{parts.port}{parts.path} {settings.SEARCH_EMBEDDINGS_MODEL}"


def embed_request(request: str, *, size: int) -> Floats | None:
    """Return the unit vector of a request, cached; None if the endpoint is off or does not answer in time.

    `size` is that of the ops' vectors. If it changes, the endpoint has changed, and cached vectors are useless.
    """
    if not is_enabled():
        return None
    guard = overload.get_guard("embeddings", THREE_IN_A_ROW)
    try:
        with guard.let_through(failures=(EmbeddingsFailed,)), suppress(TextsRefused):  # the next request may be fine
            vector: Floats = _embed_cached(describe_space(), size, request)
            return vector
    except (EmbeddingsFailed, Overloaded):
        pass  # the search ranks without it
    return None


def embed_texts(texts: Sequence[str], *, deadline: Deadline) -> Floats:
    """Return the unit vectors of texts, shape (texts, size). Raises EmbeddingsFailed."""
    body = {"model": settings.SEARCH_EMBEDDINGS_MODEL, "input": list(texts), "encoding_format": "float"}
    try:
        response = http.post_json(
            http.build_endpoint_url(settings.SEARCH_EMBEDDINGS_URL, PATH),
            key=settings.SEARCH_EMBEDDINGS_KEY,
            body=body,
            deadline=deadline,
            max_bytes=MAX_BYTES,
        )
    except (http.TimedOut, DeadlineExceeded):
        raise TextsFailed("no answer in time") from None
    except http.OutgoingError as error:
        raise EmbeddingsFailed(type(error).__name__) from None
    if response.status != 200:
        raise _build_status_error(response.status)
    return word_vectors.scale_to_unit_length(_read_vectors(response.body, len(texts)))


@lru_cache(maxsize=CACHED_REQUESTS)
def _embed_cached(_space: str, _size: int, request: str) -> Floats:
    vector: Floats = embed_texts([request], deadline=Deadline.after(milliseconds=REQUEST_TIMEOUT_MS))[0]
    return vector


def _build_status_error(status: int) -> EmbeddingsFailed:
    message = f"status {status}"
    if status in TEXT_STATUSES:
        return TextsRefused(message)
    return TextsFailed(message) if status == 500 else EmbeddingsFailed(message)


def _read_vectors(body: bytes, count: int) -> Floats:
    try:
        entries = sorted(orjson.loads(body)["data"], key=lambda entry: entry["index"])
        vectors = np.array([entry["embedding"] for entry in entries], dtype=np.float32)
    except (KeyError, TypeError, ValueError):
        raise EmbeddingsFailed("not an embeddings answer") from None
    if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
        raise EmbeddingsFailed(f"vectors of shape {vectors.shape} for {count} texts")
    return vectors
