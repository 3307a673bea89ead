"""A light load generator that leaves the CPU to the server: one process, raw sockets, prebuilt requests.

It speaks just enough HTTP/1.1 for our own servers and those that they are compared with: keep-alive, and responses with
a Content-Length or in chunks.
"""

import re
import selectors
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

RECEIVE_BYTES = 65_536
TIMEOUT_SECONDS = 30.0

_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked\r\n", re.IGNORECASE)
_LAST_CHUNK = b"\r\n0\r\n\r\n"

Address = tuple[str, int]


class UnexpectedResponse(Exception):
    """The server did not answer, or not with status 200 and a Content-Length."""


@dataclass(slots=True)
class LoadResult:
    """The results of a run: its seconds, and the milliseconds and response head of each request as they finished."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds


def build_request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return the bytes of an HTTP request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def get_response_length(received: bytearray) -> int:
    """Return the length of the first response in bytes, head and body; 0 until it is known.

    One in chunks must be the last that was received. Raises UnexpectedResponse if the status is not 200 or nothing says
    where the response ends.
    """
    end = received.find(b"\r\n\r\n") + 4
    if end < 4:
        return 0
    length = _CONTENT_LENGTH.search(received, 0, end)
    if received[9:12] != b"200" or (length is None and not _CHUNKED.search(received, 0, end)):
        raise UnexpectedResponse(bytes(received[:2000]).decode(errors="replace"))
    if length is None:
        return len(received) if received.endswith(_LAST_CHUNK) else 0
    return end + int(length[1])


def send_once(address: Address, request_bytes: bytes) -> bytes:
    """Send one request on its own connection and return the response body. Raises UnexpectedResponse."""
    with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as connection:
        connection.sendall(request_bytes)
        received = bytearray()
        while not (length := get_response_length(received)) or len(received) < length:
            received += _receive_bytes(connection)
    return bytes(received[received.find(b"\r\n\r\n") + 4 :])


def run_load(
    address: Address,
    requests: Iterable[bytes],
    *,
    connections: int = 1,
    seconds: float = float("inf"),
    with_heads: bool = False,
    timeout: float = TIMEOUT_SECONDS,
) -> LoadResult:
    """Send requests until they or the seconds run out, one at a time on each connection. Raises UnexpectedResponse.

    The connections share one stream of requests. Responses after the time limit are not counted, unless there is none
    before it: then the first one counts. A server that is silent for `timeout` seconds has failed.
    """
    source = iter(requests)
    with ExitStack() as open_sockets, selectors.DefaultSelector() as selector:
        for _ in range(connections):
            connection = _LoadConnection(
                open_sockets.enter_context(socket.create_connection(address, timeout=TIMEOUT_SECONDS))
            )
            connection.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        return _run_loop(selector, source, seconds, with_heads, timeout)


@dataclass(slots=True)
class _LoadConnection:
    """One connection with at most one open request."""

    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)
    sent_at: float = 0.0

    def send_request(self, request_bytes: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(request_bytes)

    def receive_head(self) -> bytes | None:
        """Read the received bytes; return the response head once the response is complete."""
        self.received += _receive_bytes(self.socket)
        length = get_response_length(self.received)
        if not length or len(self.received) < length:
            return None
        head = bytes(self.received[: self.received.find(b"\r\n\r\n")])
        self.received.clear()
        return head


def _run_loop(
    selector: selectors.BaseSelector, source: Iterator[bytes], seconds: float, with_heads: bool, timeout: float
) -> LoadResult:
    result = LoadResult()
    open_connections: list[_LoadConnection] = [key.data for key in selector.get_map().values()]
    started = time.perf_counter()
    pending = sum(_send_next(connection, source) for connection in open_connections)
    while pending:
        ready = selector.select(timeout)
        if not ready:
            raise UnexpectedResponse(f"No response within {timeout:.0f} seconds.")
        for key, _ in ready:
            connection: _LoadConnection = key.data
            if (head := connection.receive_head()) is None:
                continue
            now = time.perf_counter()
            if now - started > seconds and result.latencies:
                pending -= 1
                continue
            result.seconds = now - started
            result.latencies.append((now - connection.sent_at) * 1000)
            if with_heads:
                result.heads.append(head)
            pending -= not _send_next(connection, source)
    return result


def _send_next(connection: _LoadConnection, source: Iterator[bytes]) -> bool:
    request_bytes = next(source, None)
    if request_bytes is not None:
        connection.send_request(request_bytes)
    return request_bytes is not None


def _receive_bytes(connection: socket.socket) -> bytes:
    try:
        received = connection.recv(RECEIVE_BYTES)
    except ConnectionError:
        received = b""
    if not received:
        raise UnexpectedResponse("The server closed the connection.")
    return received
