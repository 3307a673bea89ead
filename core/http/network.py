"""Sockets under guard: connected to the address that was checked, and never waiting beyond the call's deadline."""

import selectors
import socket
import ssl
import time
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore2

from core.deadlines import Deadline, DeadlineExceeded
from core.http.addresses import Address, Networks, checked
from core.http.errors import TimedOut, TooLarge, Unreachable, Untrusted

HEAD_MAX_BYTES = 64 * 1024  # an answer's status line and headers, informational answers before it included


@dataclass(slots=True)
class Exchange:
    """One request and its answer: until when, and how many bytes of the answer's head may still come."""

    deadline: Deadline
    head_left: int | None = HEAD_MAX_BYTES  # None once the head is there
    allow: Networks | None = None  # networks that may be called though not public; None: those of the setting

    def seconds(self, step: float | None) -> float:
        """Return how long a step may take: its own limit, or what is left of the call; raises TimedOut."""
        try:
            left = self.deadline.left_ms() / 1000
        except DeadlineExceeded:
            raise TimedOut from None
        return left if step is None else min(step, left)

    def room(self, wanted: int) -> int:
        """Return how many bytes may be read now; raises TooLarge when the head goes on and on."""
        if self.head_left is None:
            return wanted
        if self.head_left <= 0:
            raise TooLarge
        return min(wanted, self.head_left)

    def took(self, count: int) -> None:
        """Count bytes of the head."""
        if self.head_left is not None:
            self.head_left -= count


# A pooled connection outlives the call that made it, and the library hands it fixed time-outs only: each read and
# write looks here for the call it serves. Outside of a call there is nothing here, and nothing is sent.
current: ContextVar[Exchange] = ContextVar("exchange")


class Stream(httpcore2.NetworkStream):
    """A connected socket. A limit is for each step; a peer that sends a byte now and then is cut by the deadline."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has come, at least one byte, none at the end."""
        exchange = current.get()
        room = exchange.room(max_bytes)
        self._sock.settimeout(exchange.seconds(timeout))
        try:
            data = self._sock.recv(room)
        except TimeoutError:
            raise TimedOut from None
        except OSError as error:
            raise httpcore2.ReadError from error
        exchange.took(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it."""
        left = memoryview(buffer)
        while left:
            self._sock.settimeout(current.get().seconds(timeout))
            try:
                left = left[self._sock.send(left) :]
            except TimeoutError:
                raise TimedOut from None
            except OSError as error:  # the library then still reads what the server had to say
                raise httpcore2.WriteError from error

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "Stream":
        """Return the stream under TLS, the host named and its certificate checked."""
        self._sock.settimeout(current.get().seconds(timeout))
        try:
            return Stream(ssl_context.wrap_socket(self._sock, server_hostname=server_hostname))
        except TimeoutError:
            raise TimedOut from None
        except (ssl.SSLError, ValueError):  # ValueError: a name that no certificate can hold
            raise Untrusted from None
        except OSError:
            raise Unreachable from None
        finally:
            self._sock.close()  # on success it was detached, and this does nothing

    def get_extra_info(self, info: str) -> Any:
        """Answer what the pool asks of an idle connection: whether the peer has closed it."""
        if info == "is_readable":
            return _is_readable(self._sock)
        return self._sock if info == "socket" else None


class Backend(httpcore2.NetworkBackend):
    """Where the pool gets its connections: to checked addresses, and nothing else (no unix sockets, no proxy)."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> Stream:
        """Resolve, check and connect; raises AddressRefused, TimedOut, Unreachable."""
        exchange = current.get()
        until = time.monotonic() + exchange.seconds(timeout)
        found = checked(host, port, seconds=until - time.monotonic(), allow=exchange.allow)
        for index, address in enumerate(found):
            share = (until - time.monotonic()) / (len(found) - index)  # one that does not answer leaves time for others
            stream = _connected(address, share)
            if stream is not None:
                return stream
        raise TimedOut if time.monotonic() >= until else Unreachable


def _connected(address: Address, seconds: float) -> Stream | None:
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.settimeout(max(seconds, 0.001))  # 0 would mean not to wait at all
        sock.connect(address.target)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        sock.close()
        return None
    return Stream(sock)


def _is_readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0:
        return True  # closed: the next read would return at once, too
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))
