"""Reading request bodies on the event loop, under a deadline, with a limit on those that arrive slowly."""

import asyncio
from collections import Counter

from granian.rsgi import HTTPProtocol, ProtocolClosed  # type: ignore[attr-defined]  # not marked as exported

PROMPT_SECONDS = 0.5  # a body that takes longer is slow
DEADLINE_SECONDS = 20.0


class BodyTooSlow(Exception):
    """A body did not arrive by its deadline, or was slow while too many others were."""


class SlowBodies:
    """The bytes of bodies that arrive slowly now. They are held in memory. Used on the event loop only."""

    def __init__(self, *, most_bytes: int, most_bytes_per_address: int) -> None:
        self._most_bytes = most_bytes
        self._most_bytes_per_address = most_bytes_per_address
        self._bytes_by_address: Counter[str] = Counter()

    def add(self, address: str, length: int) -> bool:
        """Add a body of an address and return True, or return False if there is no room for it."""
        if (
            self._bytes_by_address[address] + length > self._most_bytes_per_address
            or self._bytes_by_address.total() + length > self._most_bytes
        ):
            return False
        self._bytes_by_address[address] += length
        return True

    def remove(self, address: str, length: int) -> None:
        """Remove a body of an address."""
        self._bytes_by_address[address] -= length
        if not self._bytes_by_address[address]:
            del self._bytes_by_address[address]


async def read_body(protocol: HTTPProtocol, length: int, *, address: str, slow_bodies: SlowBodies) -> bytes:
    """Return the body of a request whose declared length is `length` bytes. Raises BodyTooSlow.

    The body is empty if the client closes the connection before its end.
    """
    wait = _Wait(address, length, slow_bodies)
    try:
        return await protocol()
    except asyncio.CancelledError:
        if wait.is_over:
            raise BodyTooSlow from None
        raise
    except ProtocolClosed:
        return b""
    finally:
        wait.stop()


class _Wait:
    """The wait of the current task for a body, which a timer ends. One timer costs less than asyncio's timeouts."""

    def __init__(self, address: str, length: int, slow_bodies: SlowBodies) -> None:
        self.is_over = False
        self._is_slow = False
        self._address = address
        self._length = length
        self._slow_bodies = slow_bodies
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(PROMPT_SECONDS, self._become_slow)

    def stop(self) -> None:
        """Stop the timer and give back the place among the slow bodies."""
        self._timer.cancel()
        if self._is_slow:
            self._slow_bodies.remove(self._address, self._length)

    def _become_slow(self) -> None:
        self._is_slow = self._slow_bodies.add(self._address, self._length)
        if self._is_slow:
            self._timer = self._loop.call_later(DEADLINE_SECONDS - PROMPT_SECONDS, self._end)
        else:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        if self._task is not None:
            self._task.cancel()
