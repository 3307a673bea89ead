"""HTTP/1.1 over guarded sockets, and the connections that are kept open between calls.

httptools reads the answers, strictly. docs/adr/0008 compares this with pools of other libraries.
"""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from core.http.errors import BadRequest, BrokenAnswer, TimedOut
from core.http.network import Exchange, GuardedStream, SendingFailed
from core.records import record

IDLE_SECONDS = 15.0  # how long an idle connection stays open
READ_BYTES = 65_536
MAX_PART_BYTES = 100_000  # that may come without a byte of the body
SWITCHING_PROTOCOLS = 101
CHUNKED = b"chunked"
EMPTY_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})  # whose empty body has a length, too

# What a request may contain (RFC 9110): a name, and a value without spaces around it.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"(?:[!-~](?:[\t -~]*[!-~])?)?")


class Origin(NamedTuple):
    """Where a connection leads. Calls of one origin may share it. The host is ASCII, as it is resolved."""

    scheme: str
    host: str
    port: int


@record(repr=False)
class AnswerHead:
    """The status and the headers of an answer: names in lower case, several values of one joined by commas."""

    status: int
    headers: dict[str, str]

    @property
    def is_success(self) -> bool:
        """Whether the status says that the request succeeded."""
        return 200 <= self.status < 300


class AnswerReader:
    """Reads the answers on one connection, one after another. httptools calls the methods that begin with `on_`."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        # Some services end lines without a carriage return, or pad the lengths of chunks. Other clients accept both.
        self._parser.set_dangerous_leniencies(lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True)
        self.begin()

    def begin(self, *, has_body: bool = True) -> None:
        """Get ready for the answer to another request. That to HEAD has the head of an answer with a body, but none."""
        self.head: AnswerHead | None = None
        self.is_complete = self.is_broken = False
        self.is_last = not has_body  # the connection can carry no other answer
        self._has_body = has_body
        self._fields: dict[bytes, bytes] = {}
        self._chunks: list[bytes] = []
        self._part_bytes = 0

    def feed(self, data: bytes) -> None:
        """Read the next bytes; none say that the connection has ended. `is_broken` is set if this is not HTTP.

        What came before is kept: a head of success says that a write was done, whatever follows it.
        """
        self._part_bytes += len(data)
        try:
            if data:
                self._parser.feed_data(data)
            else:
                self._end()
        except (HttpParserError, HttpParserUpgrade, BrokenAnswer):
            self.is_broken = self.is_last = True
        if self._part_bytes > MAX_PART_BYTES:
            self.is_broken = True

    def take_chunks(self) -> list[bytes]:
        """Return what came of the body since the last time."""
        chunks, self._chunks = self._chunks, []
        return chunks

    def on_message_begin(self) -> None:
        """Refuse what follows a whole answer: it belongs to no request."""
        if self.is_complete:
            raise BrokenAnswer

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, but none that follows the body."""
        if self.head is None:
            name, value = name.lower(), value.rstrip(b" \t")
            self._fields[name] = self._fields[name] + b", " + value if name in self._fields else value

    def on_headers_complete(self) -> None:
        """Keep the head, unless another one follows it (1xx)."""
        status, fields = self._parser.get_status_code(), self._fields
        if status == SWITCHING_PROTOCOLS or fields.get(b"transfer-encoding", CHUNKED).lower() != CHUNKED:
            raise BrokenAnswer
        self._fields = {}
        if status >= 200:
            self.head = AnswerHead(status, _decode_fields(fields))
            self.is_complete = not self._has_body

    def on_body(self, data: bytes) -> None:
        """Keep a part of the body."""
        self._part_bytes = 0
        self._chunks.append(data)

    def on_message_complete(self) -> None:
        """Record that the answer is whole, unless it was only the head of an informational one."""
        if self.head is not None:
            self.is_complete = True
            self.is_last = self.is_last or not self._parser.should_keep_alive()

    def _end(self) -> None:
        """Accept the end of the connection as that of a body whose length nothing says."""
        if self.head is None or not self.head.headers.keys().isdisjoint(("content-length", "transfer-encoding")):
            raise BrokenAnswer
        self.is_complete = self.is_last = True


class HttpConnection:
    """One open connection, which carries one exchange at a time."""

    def __init__(self, origin: Origin, stream: GuardedStream) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self._stream = stream
        self._answer = AnswerReader()
        self._is_broken = False

    def send(
        self, exchange: Exchange, method: str, target: bytes, host: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Send a request. Raises BadRequest for a header that HTTP does not allow."""
        lengths = [("Content-Length", str(len(body)))] if body or method in EMPTY_BODY_METHODS else []
        request = _build_head(method, target, [("Host", host), *headers.items(), *lengths]) + body
        self._answer.begin(has_body=method != "HEAD")
        try:
            self._stream.write(request, exchange)
        except SendingFailed:  # a server may refuse a large request before it has read it: its answer says why
            self._is_broken = True

    def read_head(self, exchange: Exchange) -> AnswerHead:
        """Return the head of the answer. Raises BrokenAnswer for one that is not valid HTTP."""
        while (head := self._answer.head) is None:
            if self._answer.is_broken:
                raise BrokenAnswer
            self._receive(exchange)
        exchange.head_left = None
        return head

    def iter_body(self, exchange: Exchange) -> Iterator[bytes]:
        """Yield the body as it arrives."""
        yield from self._answer.take_chunks()
        while not self._answer.is_complete:
            if self._answer.is_broken:
                raise BrokenAnswer
            self._receive(exchange)
            yield from self._answer.take_chunks()

    def can_be_kept(self) -> bool:
        """Return whether the connection can carry another exchange."""
        return self._answer.is_complete and not (self._answer.is_last or self._is_broken)

    def is_usable(self, now: float) -> bool:
        """Return whether an idle connection is still open. A server that sends something now has closed it."""
        return now - self.idle_since <= IDLE_SECONDS and not self._stream.is_readable()

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()

    def _receive(self, exchange: Exchange) -> None:
        self._answer.feed(self._stream.read(READ_BYTES, exchange))


def _build_head(method: str, target: bytes, fields: Iterable[tuple[str, str]]) -> bytes:
    """Return the head of a request. Raises BadRequest for what could be read as more than one line or field."""
    lines = [f"{method} {target.decode('ascii')} HTTP/1.1"]
    for name, value in fields:
        if not (_NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise BadRequest
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _decode_fields(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    try:
        return {name.decode(): value.decode() for name, value in fields.items()}
    except UnicodeDecodeError:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in fields.items()}


class ConnectionPool:
    """The open connections of this process to which the same checks apply. Thread-safe.

    At most `most` are in use at a time, and as many are kept idle. The one that was used last is used first.
    """

    def __init__(self, connect: Callable[[Origin, Exchange], GuardedStream], *, most: int) -> None:
        self._connect = connect
        self._most = most
        self._free = threading.Semaphore(most)
        self._idle: deque[HttpConnection] = deque()  # the one that was used last at the end
        self._lock = threading.Lock()

    def acquire(self, origin: Origin, exchange: Exchange, *, seconds: float) -> HttpConnection:
        """Return a connection, to be released. Raises TimedOut if none is free in time, or what connecting raises."""
        if not self._free.acquire(timeout=exchange.limit_seconds(seconds)):
            raise TimedOut
        try:
            return self._take_idle(origin) or HttpConnection(origin, self._connect(origin, exchange))
        except BaseException:
            self._free.release()
            raise

    def release(self, connection: HttpConnection) -> None:
        """Keep a connection for the next call if its exchange is over, else close it."""
        try:
            if not connection.can_be_kept():
                connection.close()
                return
            connection.idle_since = time.monotonic()
            with self._lock:
                self._idle.append(connection)
                left_over = self._take_left_over(connection.idle_since)
            for each in left_over:
                each.close()
        finally:
            self._free.release()

    def close(self) -> None:
        """Close all idle connections. The pool stays usable."""
        with self._lock:
            idle = list(self._idle)
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _take_idle(self, origin: Origin) -> HttpConnection | None:
        while (connection := self._find_idle(origin)) is not None:
            if connection.is_usable(time.monotonic()):
                return connection
            connection.close()
        return None

    def _find_idle(self, origin: Origin) -> HttpConnection | None:
        with self._lock:
            for index in range(len(self._idle) - 1, -1, -1):
                if self._idle[index].origin == origin:
                    connection = self._idle[index]
                    del self._idle[index]
                    return connection
        return None

    def _take_left_over(self, now: float) -> list[HttpConnection]:
        """Remove and return the connections that have been idle for too long, or are too many."""
        left_over = []
        while self._idle and (len(self._idle) > self._most or now - self._idle[0].idle_since > IDLE_SECONDS):
            left_over.append(self._idle.popleft())
        return left_over
