"""A light load generator that leaves the CPU to the server: one process, raw sockets, prebuilt requests.

It speaks just enough HTTP/1.1 for our own servers: keep-alive, and responses with a Content-Length.
"""

import re
import selectors
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

RECEIVE_BYTES = 65_536
SILENCE_SECONDS = 30.0  # a server that is silent for this long has failed

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)

Address = tuple[str, int]


class BadAnswer(Exception):
    """The server did not answer, or not with status 200 and a Content-Length."""


@dataclass(slots=True)
class Measured:
    """The results of a run: its seconds, and the milliseconds and response head of each request as they finished."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return the bytes of an HTTP request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer_length(received: bytearray) -> int:
    """Return the length of the first response in bytes, head and body; 0 until its head is complete.

    Raises BadAnswer if the status is not 200 or there is no Content-Length.
    """
    end = received.find(b"\r\n\r\n") + 4
    if end < 4:
        return 0
    length = _LENGTH.search(received, 0, end)
    if received[9:12] != b"200" or length is None:
        raise BadAnswer(bytes(received[:2000]).decode(errors="replace"))
    return end + int(length[1])


def once(address: Address, sent: bytes) -> bytes:
    """Send one request on its own connection and return the response body. Raises BadAnswer."""
    with socket.create_connection(address, timeout=SILENCE_SECONDS) as connection:
        connection.sendall(sent)
        received = bytearray()
        while not (length := answer_length(received)) or len(received) < length:
            received += _some(connection)
    return bytes(received[received.find(b"\r\n\r\n") + 4 :])


def drive(
    address: Address,
    requests: Iterable[bytes],
    *,
    connections: int = 1,
    seconds: float = float("inf"),
    with_heads: bool = False,
) -> Measured:
    """Send requests until they or the seconds run out, one at a time on each connection. Raises BadAnswer.

    The connections share one stream of requests. Responses after the time limit are not counted.
    """
    source = iter(requests)
    with ExitStack() as open_sockets, selectors.DefaultSelector() as selector:
        for _ in range(connections):
            line = _Line(open_sockets.enter_context(socket.create_connection(address, timeout=SILENCE_SECONDS)))
            line.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(line.socket, selectors.EVENT_READ, line)
        return _pump(selector, source, seconds, with_heads)


@dataclass(slots=True)
class _Line:
    """One connection with at most one open request."""

    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)
    sent_at: float = 0.0

    def send(self, sent: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(sent)

    def head(self) -> bytes | None:
        """Read the received bytes; return the response head once the response is complete."""
        self.received += _some(self.socket)
        length = answer_length(self.received)
        if not length or len(self.received) < length:
            return None
        head = bytes(self.received[: self.received.find(b"\r\n\r\n")])
        self.received.clear()
        return head


def _pump(selector: selectors.BaseSelector, source: Iterator[bytes], seconds: float, with_heads: bool) -> Measured:
    found = Measured()
    lines: list[_Line] = [key.data for key in selector.get_map().values()]
    started = time.perf_counter()
    busy = sum(_next(line, source) for line in lines)
    while busy:
        ready = selector.select(SILENCE_SECONDS)
        if not ready:
            raise BadAnswer(f"No response within {SILENCE_SECONDS:.0f} seconds.")
        for key, _ in ready:
            line: _Line = key.data
            if (head := line.head()) is None:
                continue
            now = time.perf_counter()
            if now - started > seconds:
                busy -= 1
                continue
            found.seconds = now - started
            found.latencies.append((now - line.sent_at) * 1000)
            if with_heads:
                found.heads.append(head)
            busy -= not _next(line, source)
    return found


def _next(line: _Line, source: Iterator[bytes]) -> bool:
    sent = next(source, None)
    if sent is not None:
        line.send(sent)
    return sent is not None


def _some(connection: socket.socket) -> bytes:
    try:
        received = connection.recv(RECEIVE_BYTES)
    except ConnectionError:
        received = b""
    if not received:
        raise BadAnswer("The server closed the connection.")
    return received
