"""One guarded call to another server, its body with size limits. Nothing else opens connections.

This does not use httpx2's client, which stores cookies, reads proxies and passwords from the environment, logs whole
URLs, and sends all headers across redirects.
"""

import os
import ssl
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import httpx2

from core.database.deadlines import Deadline
from core.http import network, redirects, sse
from core.http.connection_pool import AnswerHead, ConnectionPool, Origin
from core.http.errors import Abort, BrokenAnswer, OutgoingError, TimedOut, TooLarge, TooManyRedirects
from core.http.network import Exchange, GuardedStream
from core.http.ssrf import Networks
from core.records import record

CONNECT_SECONDS = 2.0  # to wait for a place, then to resolve and connect, and again for the TLS handshake
READ_SECONDS = 10.0  # between two chunks of a response; the deadline limits the whole call
CONNECTIONS = 64
STREAMS = 1_000  # connections of streams, which each last as long as an answer of a model
MAX_REDIRECTS = 5
MAX_BYTES = 1_000_000


@record(repr=False)
class OpenAnswer:
    """An answer whose body is unread: its head, and the chunks of the body as they arrive."""

    head: AnswerHead
    raw_chunks: Iterator[bytes]


def iter_body(answer: OpenAnswer, max_bytes: int) -> Iterator[bytes]:
    """Yield the decompressed body as it arrives. Raises TooLarge before yielding more than `max_bytes`, BrokenAnswer.

    Requests only accept gzip. Any other encoding is an error, above all a chain of encodings, since each one multiplies
    the size.
    """
    encoding = answer.head.headers.get("content-encoding", "").strip().lower()
    chunks = iter_chunks(answer, max_bytes)
    if encoding in ("gzip", "x-gzip"):
        yield from _gunzip(chunks, max_bytes)
    elif encoding in ("", "identity"):
        yield from chunks
    elif any(chunks):
        raise BrokenAnswer


def iter_chunks(answer: OpenAnswer, max_bytes: int) -> Iterator[bytes]:
    """Yield the body as it arrives, without unpacking it. Raises TooLarge."""
    left = max_bytes
    for chunk in answer.raw_chunks:
        left -= len(chunk)
        if left < 0:
            raise TooLarge
        yield chunk


def _gunzip(chunks: Iterator[bytes], max_bytes: int) -> Iterator[bytes]:
    gzip, left, is_empty = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16), max_bytes, True
    for chunk in chunks:
        is_empty = False
        try:
            unpacked = gzip.decompress(chunk, left + 1)
        except zlib.error:
            raise BrokenAnswer from None
        left -= len(unpacked)
        if left < 0:
            raise TooLarge
        yield unpacked
    if not is_empty and (not gzip.eof or gzip.unused_data):  # truncated, or followed by other data
        raise BrokenAnswer


@dataclass(frozen=True, slots=True, repr=False)
class ResponseStream:
    """A response with any status, whose body is read while it arrives: lower-case headers, and the chunks.

    `limit_silence` sets how many seconds each of the next chunks may take.
    """

    status: int
    headers: dict[str, str]
    chunks: Iterator[bytes]
    limit_silence: Callable[[float], None]


@record(repr=False)  # no repr: a response must not end up in logs
class Response:
    """A response with any status: the final URL, lower-case headers, and the decompressed body.

    `unread` is why a body could not be read to its end, if the caller asked for the response anyway.
    """

    status: int
    url: str
    headers: dict[str, str]
    body: bytes
    redirects: int
    unread: OutgoingError | None = None


@cache
def get_ssl_context() -> ssl.SSLContext:
    """Return the context that all clients of this process share: it takes 30 ms to load the certificates."""
    context = httpx2.create_ssl_context(trust_env=False)
    context.set_alpn_protocols(["http/1.1"])
    return context


# By process id, since a fork must not use or close its parent's sockets; and by allowed networks, since a connection
# that one call may open must not serve another call that may not.
_pools: dict[tuple[int, Networks | None, int], ConnectionPool] = {}


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    deadline: Deadline,
    max_bytes: int = MAX_BYTES,
    read_seconds: float | None = READ_SECONDS,
    follow_redirects: bool = True,
    same_origin: bool = False,
    allow: Networks | None = None,
    keep_unread: bool = False,
    stream_deadline: Deadline | None = None,
    on_event_chunk: Callable[[bytes], None] | None = None,
) -> Response:
    """Send one request and return the answer; raises an OutgoingError.

    `max_bytes` bounds the body as sent and as unpacked. Every connection, including those of redirects, is made to an
    address that `core.http.ssrf` lets through. Up to 5 redirects are followed; to another origin only as GET or HEAD
    and without headers that could be credentials, else the redirect itself is the answer. With `same_origin`, no
    redirect to another origin is followed. Nothing is retried. `allow` replaces the networks of GATEWAY_OUTGOING_ALLOW,
    for a URL from an untrusted source. `read_seconds` limits the time between two chunks of the response; None leaves
    it to the deadline. With `keep_unread`, a success whose body cannot be read is returned with the part that came, and
    not raised: the server has said that it did what was asked. With `stream_deadline`, so is a stream (`core.http.sse`)
    that has not ended by then. `on_event_chunk` gets the chunks of a stream as they arrive.
    """
    hop = redirects.build_first_request(method, url, headers or {}, body)
    for redirect_count in range(MAX_REDIRECTS + 1):
        exchange = Exchange(deadline, allow=allow, read_seconds=read_seconds, is_sent=redirect_count > 0)
        with _open_answer(hop, exchange) as answer:
            head = answer.head
            next_hop = redirects.follow_redirect(hop, head, same_origin=same_origin) if follow_redirects else None
            if next_hop is None:
                is_stream = stream_deadline is not None and sse.is_stream(head.headers)
                if is_stream and stream_deadline is not None and head.is_success:
                    exchange.deadline = stream_deadline
                content, unread = _read_content(
                    answer,
                    max_bytes,
                    keep_unread=keep_unread,
                    is_stream=is_stream,
                    on_chunk=on_event_chunk if is_stream else None,
                )
                return Response(head.status, hop.url.text, head.headers, content, redirect_count, unread)
        hop = next_hop
    raise TooManyRedirects


def _read_content(
    answer: OpenAnswer,
    max_bytes: int,
    *,
    keep_unread: bool,
    is_stream: bool,
    on_chunk: Callable[[bytes], None] | None,
) -> tuple[bytes, OutgoingError | None]:
    """Return the body, or what came of it and the reason why it ended there if that is not an error."""
    body = bytearray()
    try:
        for chunk in iter_body(answer, max_bytes):
            body += chunk
            if on_chunk is not None:
                on_chunk(chunk)
    except OutgoingError as error:
        is_kept = keep_unread or (is_stream and (body or isinstance(error, TimedOut)))
        if not (is_kept and answer.head.is_success):
            raise
        return bytes(body), error
    return bytes(body), None


@contextmanager
def open_stream(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: bytes | None = None,
    deadline: Deadline,
    max_bytes: int,
    read_seconds: float | None,
    abort: Abort,
    pause: Callable[[], float] | None = None,
    allow: Networks | None = None,
) -> Iterator[ResponseStream]:
    """Send one request and yield the response while it arrives. Raises OutgoingError, until the block ends.

    The arguments are those of `request`. No redirect is followed, and no encoding is accepted: a compressed stream
    arrives late. `abort` ends the call from another thread. `pause` returns the seconds to wait before each read of the
    body: what arrives in the meantime is read in one go.
    """
    hop = redirects.build_first_request(method, url, headers, body)
    exchange = Exchange(deadline, allow=allow, read_seconds=read_seconds, abort=abort, is_stream=True, pause=pause)
    try:
        with _open_answer(hop, exchange, encoding="identity") as answer:
            chunks = iter_chunks(answer, max_bytes)
            yield ResponseStream(answer.head.status, answer.head.headers, chunks, exchange.limit_silence)
    finally:
        abort.attach(None)


def get_pool(allow: Networks | None = None, *, connections: int = CONNECTIONS) -> ConnectionPool:
    """Return this process's connections for some allowed networks, created on first use."""
    key = (os.getpid(), allow, connections)
    existing = _pools.get(key)
    if existing is None:  # two threads may both create one; the first one stays
        existing = _pools.setdefault(key, ConnectionPool(_connect, most=connections))
    return existing


def close_idle_connections() -> None:
    """Close all connections of this process that no call uses now."""
    for (process, _, _), pool in list(_pools.items()):
        if process == os.getpid():
            pool.close()


def _connect(origin: Origin, exchange: Exchange) -> GuardedStream:
    stream = network.connect(origin.host, origin.port, exchange, seconds=CONNECT_SECONDS)
    if origin.scheme == "http":
        return stream
    return stream.start_tls(get_ssl_context(), origin.host, exchange.limit_seconds(CONNECT_SECONDS))


@contextmanager
def _open_answer(hop: redirects.Hop, exchange: Exchange, *, encoding: str = "gzip") -> Iterator[OpenAnswer]:
    """Yield the answer with its body unread. Until the block ends, each OutgoingError says whether it was sent."""
    url = hop.url
    pool = get_pool(exchange.allow, connections=STREAMS if exchange.is_stream else CONNECTIONS)
    try:
        connection = pool.acquire(url.origin, exchange, seconds=CONNECT_SECONDS)
        try:
            headers = hop.headers | {"accept-encoding": encoding}
            connection.send(exchange, hop.method, url.target, url.host, headers, hop.body or b"")
            yield OpenAnswer(connection.read_head(exchange), connection.iter_body(exchange))
        finally:
            pool.release(connection)
    except OutgoingError as error:
        error.was_sent = exchange.is_sent
        raise
