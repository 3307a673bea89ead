"""Stop a call from another thread, also while it waits for the server."""

import socket
from contextlib import suppress
from threading import Event


class Abort:
    """A switch that ends a call at once: its connection is shut down, and reading from it fails.

    A call may be over before it is noticed. Ask `is_set` why a call failed.
    """

    def __init__(self) -> None:
        self._event = Event()
        self._socket: socket.socket | None = None

    @property
    def is_set(self) -> bool:
        """Whether the call was ended."""
        return self._event.is_set()

    def set(self) -> None:
        """End the call, and every later call with this switch."""
        self._event.set()
        if self._socket is not None:
            with suppress(OSError):  # it may be closed already
                self._socket.shutdown(socket.SHUT_RDWR)

    def wait(self, seconds: float) -> bool:
        """Wait so long, or return True at once when the call is ended."""
        return self._event.wait(seconds)

    def attach(self, sock: socket.socket | None) -> None:
        """Name the connection that the call waits for now. None when it waits for none."""
        self._socket = sock
