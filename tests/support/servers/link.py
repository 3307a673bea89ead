"""A TCP link between a server and PostgreSQL that a test can make silent: connections stay, nothing comes through."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from django.db import connection

from tests.support.servers.stores import Store


class Link:
    """Accepts connections on a port, and carries what they send to PostgreSQL and back, until it is silent."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._is_open = threading.Event()
        self._is_open.set()
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    def build_url(self, store: Store) -> str:
        """Return the DATABASE_URL of a database behind this link."""
        parameters = connection.get_connection_params()
        user, password = parameters.get("user", ""), parameters.get("password", "")
        credentials = f"{user}:{password}" if password else user
        return f"postgres://{credentials}@127.0.0.1:{self._listener.getsockname()[1]}/{store.name}"

    def silence(self) -> None:
        """Carry nothing more, in both directions."""
        self._is_open.clear()

    def resume(self) -> None:
        """Carry what was sent meanwhile, and go on."""
        self._is_open.set()

    def close(self) -> None:
        self.resume()
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = _connect_to_postgres()
                self._sockets += [near, far]
                join(near, far, self._is_open.wait)


def join(near: socket.socket, far: socket.socket, wait: Callable[[], object] = lambda: None) -> None:
    """Carry what one socket receives to the other, in both directions, and wait before each piece."""

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    for sockets in ((near, far), (far, near)):
        threading.Thread(target=carry, args=sockets, daemon=True).start()


def _connect_to_postgres() -> socket.socket:
    # Not HOST of the settings: the embedded PostgreSQL tells its socket in OPTIONS.
    parameters = connection.get_connection_params()
    host, port = str(parameters.get("host") or "/var/run/postgresql"), int(parameters.get("port") or 5432)
    if host.startswith("/"):
        far = socket.socket(socket.AF_UNIX)
        far.connect(f"{host}/.s.PGSQL.{port}")
        return far
    return socket.create_connection((host, port))
