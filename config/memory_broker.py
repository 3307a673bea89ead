"""A message broker inside the process, whose worker sleeps until a message comes.

Kombu's own transport polls its queues. At the five milliseconds that a batch needs, this costs 2% of a core in each
idle process.
"""

import threading
import time
from queue import Empty
from typing import Any

from kombu.transport import memory, virtual
from kombu.utils.scheduling import FairCycle

# Set when there may be something to deliver: a message came, or a thread became free for one. Never cleared while it
# is waited for, so the one thread that receives messages misses nothing.
_is_changed = threading.Event()


class WakingQoS(virtual.QoS):
    """Limit of unacknowledged messages. Wakes the worker when there is room for another one."""

    def ack(self, delivery_tag: str) -> None:
        super().ack(delivery_tag)
        _is_changed.set()

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().reject(delivery_tag, requeue=requeue)
        _is_changed.set()


class WakingChannel(memory.Channel):
    """Channel that wakes the worker when a message is sent."""

    QoS = WakingQoS

    def _put(self, queue: str, message: Any, **options: Any) -> None:
        super()._put(queue, message, **options)
        _is_changed.set()

    def _put_fanout(self, exchange: str, message: Any, routing_key: str | None = None, **options: Any) -> None:
        super()._put_fanout(exchange, message, routing_key, **options)
        _is_changed.set()


class WakingTransport(memory.Transport):
    """In-memory transport that waits for messages instead of polling for them."""

    Channel = WakingChannel

    cycle: FairCycle

    def drain_events(self, connection: Any, timeout: float | None = None, **_: Any) -> None:
        """Deliver one message. Raises TimeoutError if none comes within `timeout` seconds."""
        ends_at = None if timeout is None else time.monotonic() + timeout
        while True:
            _is_changed.clear()  # before the queues are read: a message after that sets it again
            try:
                self.cycle.get(self._deliver, timeout=timeout)
                return
            except Empty:
                if not _is_changed.wait(None if ends_at is None else max(0.0, ends_at - time.monotonic())):
                    raise TimeoutError from None
