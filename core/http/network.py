"""Guarded sockets: they connect to the address that was checked, and never wait beyond the call's deadline."""

import select
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from core.database.deadlines import Deadline, DeadlineExceeded
from core.http.errors import Abort, TimedOut, TooLarge, Unreachable, Untrusted
from core.http.ssrf import Address, Networks, resolve_allowed_addresses

WRITE_SECONDS = 10.0  # to send a part of a request
HEAD_MAX_BYTES = 64 * 1024  # status line and headers, including those of informational (1xx) responses


@dataclass(slots=True)
class Exchange:
    """One request and its response: the deadline, and how many bytes of response headers may still arrive."""

    deadline: Deadline
    head_left: int | None = HEAD_MAX_BYTES  # None once the headers are complete
    allow: Networks | None = None  # non-public networks that may be called; None: those of the setting
    read_seconds: float | None = None  # between two chunks of the response; None: the deadline alone limits them
    abort: Abort | None = None
    is_stream: bool = False  # which must not take the connections of calls
    pause: Callable[[], float] | None = None  # seconds before each read of a stream's body, while more of it collects
    silence_seconds: float | None = None  # replaces `read_seconds` for what is left of a stream
    is_sent: bool = False  # once the first bytes of the request were written

    def use_socket(self, sock: socket.socket) -> None:
        """Let `abort` end the wait for this socket. Raises Unreachable if the call was aborted before."""
        if self.abort is not None:
            self.abort.attach(sock)
            if self.abort.is_set:
                raise Unreachable

    def wait_for_more(self) -> None:
        """Wait before the next read of a stream's body."""
        if self.pause is not None and self.abort is not None and self.head_left is None:
            self.abort.wait(self.pause())

    def limit_seconds(self, step: float | None) -> float:
        """Return the time limit of a step: the smaller of `step` and the time left for the call. Raises TimedOut."""
        try:
            left = self.deadline.get_remaining_ms() / 1000
        except DeadlineExceeded:
            raise TimedOut from None
        return left if step is None else min(step, left)

    def limit_silence(self, seconds: float) -> None:
        """Wait at most so long for each of the next chunks."""
        self.silence_seconds = seconds

    def limit_read(self, max_bytes: int) -> int:
        """Return how many bytes may be read now. Raises TooLarge if the headers exceed their limit."""
        if self.head_left is None:
            return max_bytes
        if self.head_left <= 0:
            raise TooLarge
        return min(max_bytes, self.head_left)

    def count_head_bytes(self, count: int) -> None:
        """Count bytes that were read as part of the headers."""
        if self.head_left is not None:
            self.head_left -= count


class SendingFailed(Exception):
    """The server closed the connection while the request was sent. It may have answered before."""


class GuardedStream:
    """A connected socket. Timeouts limit single steps; the deadline also stops a peer that sends one byte at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def read(self, max_bytes: int, exchange: Exchange) -> bytes:
        """Return the bytes received: at least one, or none at the end of the stream."""
        room = exchange.limit_read(max_bytes)
        exchange.wait_for_more()
        exchange.use_socket(self._sock)
        silence = exchange.silence_seconds
        self._sock.settimeout(exchange.limit_seconds(exchange.read_seconds if silence is None else silence))
        try:
            data = self._sock.recv(room)
        except TimeoutError:
            raise TimedOut from None
        except OSError:
            raise Unreachable from None
        exchange.count_head_bytes(len(data))
        return data

    def write(self, buffer: bytes, exchange: Exchange) -> None:
        """Send the whole buffer. Raises SendingFailed if the server no longer takes it."""
        left = memoryview(buffer)
        while left:
            self._sock.settimeout(exchange.limit_seconds(WRITE_SECONDS))
            try:
                left = left[self._sock.send(left) :]
                exchange.is_sent = True
            except TimeoutError:
                raise TimedOut from None
            except OSError:
                raise SendingFailed from None

    def close(self) -> None:
        self._sock.close()

    def start_tls(self, context: ssl.SSLContext, host: str, seconds: float) -> "GuardedStream":
        """Return the stream over TLS, with SNI and a verified certificate."""
        self._sock.settimeout(seconds)
        try:
            return GuardedStream(context.wrap_socket(self._sock, server_hostname=host))
        except TimeoutError:
            raise TimedOut from None
        except (ssl.SSLError, ValueError):  # ValueError: a name that no certificate can contain
            raise Untrusted from None
        except OSError:
            raise Unreachable from None
        finally:
            self._sock.close()  # no-op on success: the socket was detached

    def is_readable(self) -> bool:
        """Return whether an idle peer has sent something or closed the connection."""
        return bool(self._poll.poll(0))


def connect(host: str, port: int, exchange: Exchange, *, seconds: float) -> GuardedStream:
    """Resolve, check and connect. Raises AddressRefused, TimedOut or Unreachable."""
    until = time.monotonic() + exchange.limit_seconds(seconds)
    addresses = resolve_allowed_addresses(host, port, seconds=until - time.monotonic(), allow=exchange.allow)
    for index, address in enumerate(addresses):
        share = (until - time.monotonic()) / (len(addresses) - index)  # leaves time for the other addresses
        stream = _connect(address, share)
        if stream is not None:
            return stream
    raise TimedOut if time.monotonic() >= until else Unreachable


def _connect(address: Address, seconds: float) -> GuardedStream | None:
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.settimeout(max(seconds, 0.001))  # 0 would make the socket non-blocking
        sock.connect(address.target)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        sock.close()
        return None
    return GuardedStream(sock)
