"""Clients that send or read slowly hold connections, never threads: everybody else is answered meanwhile."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.support.servers.processes import Server

pytestmark = pytest.mark.server

CONNECTIONS = 200
KEYED = (
    b"POST /api/v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
)
ANONYMOUS = (
    b"POST /admin/login/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\n"
)
DRIPS = {
    "bodies with a key": KEYED + b'{"op": ',
    "bodies without a key": ANONYMOUS + b"username=",
    "headers": b"POST /api/v1/exec HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Drip: ",
}


@contextmanager
def hold_connections(server: Server, start: bytes) -> Iterator[list[socket.socket]]:
    """Open many connections that send the start of a request, and close them at the end."""
    with ExitStack() as stack:
        connections = []
        for _ in range(CONNECTIONS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            connection.sendall(start.replace(b"%s", server.key.encode()))
            connections.append(connection)
        yield connections


def drip(connections: list[socket.socket]) -> None:
    """Send one more character on each connection. None of them has been answered or closed."""
    for connection in connections:
        connection.sendall(b" ")
        connection.setblocking(False)
        with pytest.raises(BlockingIOError):
            connection.recv(1)
        connection.setblocking(True)


@pytest.mark.parametrize("start", DRIPS.values(), ids=DRIPS)
def test_drip_delays_nobody_else(shared_server: Server, start: bytes) -> None:
    with hold_connections(shared_server, start) as connections, shared_server.client() as http:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            drip(connections)
            assert shared_server.help().status_code == 200
            assert shared_server.exec("probe.process").status_code == 200
            assert http.get("/healthz").status_code == 200
            assert http.get("/admin/login/").status_code == 200


def test_client_that_does_not_read_delays_nobody_else(shared_server: Server) -> None:
    request = b"GET /api/v1/help HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n" * 100
    with hold_connections(shared_server, request):
        assert [shared_server.exec("probe.process").status_code for _ in range(20)] == [200] * 20
