"""HTTP/1.1 over guarded sockets, and the connections that are kept open between calls.

h11 writes requests and reads answers strictly. A pool of httpx2 would do the same for more than twice the CPU time.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import h11

from core.http.errors import BadRequest, BrokenAnswer, TimedOut
from core.http.network import Exchange, GuardedStream, SendingFailed

IDLE_SECONDS = 15.0  # how long an idle connection stays open
READ_BYTES = 65_536
MAX_PART_BYTES = 100_000  # of one head or the line before a chunk
SWITCHING_PROTOCOLS = 101
EMPTY_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})  # whose empty body has a length, too


class Origin(NamedTuple):
    """Where a connection leads. Calls of one origin may share it. The host is ASCII, as it is resolved."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, repr=False)
class AnswerHead:
    """The status and the headers of an answer: names in lower case, several values of one joined by commas."""

    status: int
    headers: dict[str, str]

    @property
    def is_success(self) -> bool:
        """Whether the status says that the request succeeded."""
        return 200 <= self.status < 300


class HttpConnection:
    """One open connection, which carries one exchange at a time."""

    def __init__(self, origin: Origin, stream: GuardedStream) -> None:
        self.origin = origin
        self.idle_since = 0.0
        self._stream = stream
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_PART_BYTES)
        self._is_broken = False

    def send(
        self, exchange: Exchange, method: str, target: bytes, host: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Send a request. Raises BadRequest for a header that HTTP does not allow."""
        lengths = [("Content-Length", str(len(body)))] if body or method in EMPTY_BODY_METHODS else []
        fields = [("Host", host), *headers.items(), *lengths]
        try:
            request = self._state.send(h11.Request(method=method, target=target, headers=fields)) or b""
        except (h11.LocalProtocolError, UnicodeError):
            raise BadRequest from None
        if body:
            request += self._state.send(h11.Data(data=body)) or b""
        self._state.send(h11.EndOfMessage())
        try:
            self._stream.write(request, exchange)
        except SendingFailed:  # a server may refuse a large request before it has read it: its answer says why
            self._is_broken = True

    def read_head(self, exchange: Exchange) -> AnswerHead:
        """Return the head of the answer. Raises BrokenAnswer for one that is not valid HTTP."""
        while not isinstance(event := self._read_event(exchange), h11.Response):
            if not isinstance(event, h11.InformationalResponse) or event.status_code == SWITCHING_PROTOCOLS:
                raise BrokenAnswer
        exchange.head_left = None
        return AnswerHead(event.status_code, _join_headers(event.headers))

    def iter_body(self, exchange: Exchange) -> Iterator[bytes]:
        """Yield the body as it arrives."""
        while isinstance(event := self._read_event(exchange), h11.Data):
            yield bytes(event.data)

    def prepare_for_next(self) -> bool:
        """Return whether the connection can carry another exchange. Bytes after the answer belong to no request."""
        is_done = self._state.our_state is h11.DONE and self._state.their_state is h11.DONE
        if self._is_broken or not is_done or self._state.trailing_data[0]:
            return False
        self._state.start_next_cycle()
        return True

    def is_usable(self, now: float) -> bool:
        """Return whether an idle connection is still open. A server that sends something now has closed it."""
        return now - self.idle_since <= IDLE_SECONDS and not self._stream.is_readable()

    def close(self) -> None:
        """Close the socket."""
        self._stream.close()

    def _read_event(self, exchange: Exchange) -> object:
        try:
            while (event := self._state.next_event()) is h11.NEED_DATA:
                self._state.receive_data(self._stream.read(READ_BYTES, exchange))
        except h11.RemoteProtocolError:  # also for the end of the connection before that of the answer
            raise BrokenAnswer from None
        return event


def _join_headers(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    joined: dict[bytes, bytes] = {}
    for name, value in fields:
        joined[name] = joined[name] + b", " + value if name in joined else value
    try:
        return {name.decode(): value.decode() for name, value in joined.items()}
    except UnicodeDecodeError:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in joined.items()}


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
            if not connection.prepare_for_next():
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
