"""A load generator that leaves the machine to the server: one process, raw sockets, requests built beforehand.

It speaks just enough HTTP/1.1 for servers of ours: keep-alive, and answers that name their Content-Length.
"""

import re
import selectors
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field

RECEIVE_BYTES = 65_536
SILENCE_SECONDS = 30.0  # a server that says nothing for so long has failed

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)

Address = tuple[str, int]


class BadAnswer(Exception):
    """The server answered something else than 200 with a Content-Length, or not at all."""


@dataclass(slots=True)
class Measured:
    """What a run found: how long it took, and of each request, in the order of their ends, milliseconds and head."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    heads: list[bytes] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Requests a second."""
        return len(self.latencies) / self.seconds


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """Return the bytes of one request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer_length(received: bytearray) -> int:
    """Return how many bytes the first answer has, head and body; 0 while its head is not complete.

    Raises BadAnswer where its status is not 200 or its length is not told.
    """
    end = received.find(b"\r\n\r\n") + 4
    if end < 4:
        return 0
    length = _LENGTH.search(received, 0, end)
    if received[9:12] != b"200" or length is None:
        raise BadAnswer(bytes(received[:2000]).decode(errors="replace"))
    return end + int(length[1])


def once(address: Address, sent: bytes) -> bytes:
    """Send one request on a connection of its own and return the body of its answer. Raises BadAnswer."""
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
    """Send requests, one at a time on each connection, until they or the seconds run out. Raises BadAnswer.

    The connections share one stream of requests; answers that come after the last second are not counted.
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
    """One connection, on which one request is under way."""

    socket: socket.socket
    received: bytearray = field(default_factory=bytearray)
    sent_at: float = 0.0

    def send(self, sent: bytes) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(sent)

    def head(self) -> bytes | None:
        """Read what has come; return the head of the answer once it is whole."""
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
            raise BadAnswer(f"No answer came within {SILENCE_SECONDS:.0f} seconds.")
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
