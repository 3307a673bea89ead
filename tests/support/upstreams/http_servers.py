"""HTTP servers on loopback that return given bytes and record requests."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

ResponseBytes = bytes | Iterable[bytes]


def build_response(body: bytes = b"ok", status: str = "200 OK", **headers: str) -> bytes:
    """Return the bytes of a response. Header names may have underscores."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def create_certificate(folder: Path, host: str) -> Path:
    """Create a self-signed certificate of a host with its key in one file, or skip the test."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to create the certificate")
    certificate, key = folder / f"{host}.pem", folder / "key.pem"
    command = f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN={host}"
    subprocess.run(
        [*command.split(), "-addext", f"subjectAltName=DNS:{host}", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    certificate.write_text(certificate.read_text() + key.read_text())
    return certificate


def build_redirect(location: str, status: str = "302 Found") -> bytes:
    return build_response(b"", status, Location=location)


class Server:
    """Listens on every loopback address. `answers` returns a response, or its pieces, for the bytes of a request."""

    def __init__(
        self, answers: Callable[[bytes], ResponseBytes], context: ssl.SSLContext | None = None, greeting: bytes = b""
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
                    response = self.answers(request)
                    is_last = False
                    for piece in [response] if isinstance(response, bytes) else response:
                        connection.settimeout(2)
                        connection.sendall(piece)
                        connection.settimeout(0.05)
                        is_last = is_last or b"\r\nConnection: close\r\n" in piece
                    if is_last:
                        return

    def _request(self, connection: socket.socket) -> bytes:
        received = b""
        while not self.stopped.is_set():
            with suppress(TimeoutError):
                piece = connection.recv(65536)
                received += piece
                head, end, body = received.partition(b"\r\n\r\n")
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                if not piece or (end and len(body) >= sum(int(line.split(b":")[1]) for line in lengths)):
                    return received
        return b""
