"""The broker inside a process: its worker sleeps until a message comes."""

import threading
import time
from collections.abc import Iterator
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from config.memory_broker import WakingTransport


@pytest.fixture
def connection() -> Iterator[Connection]:
    with Connection("memory://localhost/", transport=WakingTransport) as connection:
        yield connection


def test_message_wakes_the_worker_at_once(connection: Connection) -> None:
    queue, received = Queue("waking"), []

    def receive(body: Any, message: Any) -> None:
        received.append(time.monotonic())
        message.ack()

    with Consumer(connection, [queue], callbacks=[receive]):
        sent_at: list[float] = []

        def send() -> None:
            with Connection("memory://localhost/", transport=WakingTransport) as sender:
                sent_at.append(time.monotonic())
                sender.Producer().publish({"batch": 1}, routing_key="waking")

        threading.Timer(0.2, send).start()
        connection.drain_events(timeout=20)

    assert received[0] - sent_at[0] < 5  # well before the timeout


def test_worker_with_its_hands_full_gets_the_next_message_once_one_is_acknowledged(connection: Connection) -> None:
    queue = Queue("limited")
    messages: list[Any] = []
    with Consumer(connection, [queue], on_message=messages.append, prefetch_count=1):
        for number in (1, 2):
            connection.Producer().publish(number, routing_key="limited")
        connection.drain_events(timeout=5)
        threading.Timer(0.2, messages[0].ack).start()
        connection.drain_events(timeout=20)
        messages[1].ack()

    assert [message.decode() for message in messages] == [1, 2]


def test_worker_without_messages_sleeps_until_its_timeout(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    with Consumer(connection, [Queue("idle")], on_message=pytest.fail):
        transport = connection.transport

        def look(callback: Any, timeout: float | None = None) -> None:
            looks.append(time.monotonic())
            raise Empty

        monkeypatch.setattr(transport.cycle, "get", look)
        with pytest.raises(TimeoutError):
            connection.drain_events(timeout=0.3)

    assert len(looks) <= 2  # a declaration of the queue may have woken it once
