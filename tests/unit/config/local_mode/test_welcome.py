"""The addresses of make run are printed when something listens on all of them."""

import socket
import threading
import time

from config.local_mode import welcome
from tests.support.servers.processes import free_port


def test_ports_are_waited_for_until_something_listens() -> None:
    port = free_port()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        later = threading.Timer(0.2, listener.listen)
        later.start()
        try:
            assert welcome.wait_for_ports([port], time.monotonic() + 30) == []
        finally:
            later.join()


def test_ports_where_nothing_listens_in_time_are_named() -> None:
    port = free_port()

    assert welcome.wait_for_ports([port], time.monotonic() + 0.2) == [port]
