"""Servers on loopback that answer as told and count what comes: the outside world of these tests."""

import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Thread

Answer = bytes | Iterable[bytes]


def answer(body: bytes = b"ok", status: str = "200 OK", **headers: str) -> bytes:
    """Return an answer's bytes; header names with underscores."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    """Return a redirect's bytes."""
    return answer(b"", status, Location=location)


class Server:
    """Listens on every loopback address. `answers` makes an answer, or its pieces, of a request's bytes."""

    def __init__(
        self, answers: Callable[[bytes], Answer], context: ssl.SSLContext | None = None, greeting: bytes = b""
    ) -> None:
        self.answers, self.context, self.greeting = answers, context, greeting
        self.connections = 0
        self.requests: list[bytes] = []
        self.stopped = Event()
        self._socket = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self._threads = [Thread(target=self._listen)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        return self._socket.getsockname()[1]

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def stop(self) -> None:
        self.stopped.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._socket.close()

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.connections += 1
                connection.settimeout(0.05)
                self._threads.append(Thread(target=self._serve, args=[connection]))
                self._threads[-1].start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if self.context is not None:
                connection.settimeout(2)
                connection = self.context.wrap_socket(connection, server_side=True)
                connection.settimeout(0.05)
            with connection:
                connection.sendall(self.greeting)
                while request := self._request(connection):
                    self.requests.append(request)
                    said = self.answers(request)
                    for piece in [said] if isinstance(said, bytes) else said:
                        connection.settimeout(2)
                        connection.sendall(piece)
                        connection.settimeout(0.05)

    def _request(self, connection: socket.socket) -> bytes:
        came = b""
        while not self.stopped.is_set():
            with suppress(TimeoutError):
                piece = connection.recv(65536)
                came += piece
                head, end, body = came.partition(b"\r\n\r\n")
                wanted = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                if not piece or (end and len(body) >= sum(int(line.split(b":")[1]) for line in wanted)):
                    return came
        return b""
