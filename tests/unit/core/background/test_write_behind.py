import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from queue import Queue
from typing import Any

import pytest
from django.db import DatabaseError, DataError, InterfaceError, OperationalError

from core.background import write_behind
from core.background.write_behind import RecentKeys, WriteBehindBuffer

start_thread = write_behind._start_thread  # before a fixture replaces it
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


class FakeTable:
    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.failure: Exception | None = None

    def write(self, batch: list[int]) -> None:
        if self.failure:
            raise self.failure
        self.batches.append(batch)


@pytest.fixture
def table() -> FakeTable:
    return FakeTable()


@pytest.fixture(autouse=True)
def _no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "_buffers", [])
    monkeypatch.setattr(write_behind, "_start_thread", lambda: None)


def put_all(buffer: WriteBehindBuffer[int], items: range) -> None:
    for item in items:
        buffer.put(item)


def test_flush_writes_items_in_order_and_in_batches(table: FakeTable) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=100, batch_size=2)
    put_all(buffer, range(5))
    assert len(buffer) == 5

    buffer.flush()
    buffer.flush()

    assert table.batches == [[0, 1], [2, 3], [4]]


def test_flush_by_several_threads_writes_each_item_once(table: FakeTable) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=3_000, batch_size=10)
    put_all(buffer, range(3_000))

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(buffer.flush) for _ in range(4)]:
            future.result()

    assert [item for batch in table.batches for item in batch] == list(range(3_000))


def test_put_counts_items_beyond_the_capacity_as_lost(table: FakeTable) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=3)
    put_all(buffer, range(5))

    buffer.flush()

    assert (table.batches, buffer.lost) == ([[0, 1, 2]], 2)


@pytest.mark.parametrize("failure", [DatabaseError("gone"), InterfaceError("connection already closed")])
def test_failed_write_is_counted_and_logged(
    table: FakeTable, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=100, batch_size=2)
    put_all(buffer, range(3))
    table.failure = failure

    with caplog.at_level(logging.ERROR):
        buffer.flush()
    table.failure = None
    buffer.put(3)
    buffer.flush()

    assert (table.batches, buffer.lost) == ([[3]], 3)
    assert [record.getMessage().partition("\n")[0] for record in caplog.records] == [
        "numbers.lost count=2 total=2",
        "numbers.lost count=1 total=3",
    ]


def test_buffer_with_retries_keeps_items_and_logs_when_a_failure_begins(
    table: FakeTable, caplog: pytest.LogCaptureFixture
) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=100, batch_size=2, retries=True)
    put_all(buffer, range(3))
    table.failure = OperationalError()

    with caplog.at_level(logging.ERROR):
        buffer.flush()
        buffer.flush()
    table.failure = None
    buffer.flush()

    assert (table.batches, buffer.lost) == ([[0, 1], [2]], 0)
    assert [record.getMessage().partition("\n")[0] for record in caplog.records] == ["numbers.write_failed queued=3"]


def test_buffer_with_retries_drops_items_that_no_row_can_hold(
    table: FakeTable, caplog: pytest.LogCaptureFixture
) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=100, batch_size=2, retries=True)
    put_all(buffer, range(2))
    table.failure = DataError("value too long")

    with caplog.at_level(logging.ERROR):
        buffer.flush()
    table.failure = None
    buffer.put(2)
    buffer.flush()

    assert (table.batches, buffer.lost) == ([[2]], 2)
    assert "numbers.lost count=2 total=2" in caplog.text


def test_discard_drops_queued_items(table: FakeTable) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=100)
    put_all(buffer, range(3))

    buffer.discard()
    buffer.flush()

    assert table.batches == []


@pytest.fixture
def finalizers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let the thread start as in a server, and return what it registers for the end of the process."""
    registered: list[Any] = []
    monkeypatch.setattr(write_behind, "_start_thread", start_thread)
    monkeypatch.setattr(write_behind, "_thread", None)
    monkeypatch.setattr(write_behind, "INTERVAL", 0.01)
    monkeypatch.setattr(write_behind, "Finalize", lambda _, call, exitpriority: registered.append((call, exitpriority)))
    return registered


def test_one_thread_writes_the_items_of_all_buffers(finalizers: list[Any]) -> None:
    written: Queue[tuple[str, list[int]]] = Queue()
    first = WriteBehindBuffer[int]("first", lambda batch: written.put(("first", batch)), capacity=10)
    second = WriteBehindBuffer[int]("second", lambda batch: written.put(("second", batch)), capacity=10)

    first.put(1)
    thread = write_behind._thread
    assert written.get(timeout=5) == ("first", [1])
    second.put(2)
    assert written.get(timeout=5) == ("second", [2])

    assert write_behind._thread is thread
    assert thread is not None
    assert thread.daemon
    assert finalizers == [(write_behind.flush_all, 10)]  # a worker process writes the rest when it ends


def test_key_is_due_once() -> None:
    keys: RecentKeys[str] = RecentKeys()

    assert [keys.add_if_due(key, NOON) for key in "abab"] == [True, True, False, False]
    assert not keys.is_due("a", NOON + timedelta(days=400))
    keys.clear()
    assert keys.is_due("a", NOON)


def test_key_is_due_again_after_its_time() -> None:
    keys: RecentKeys[str] = RecentKeys(again_after=timedelta(hours=1))

    assert [keys.add_if_due("a", NOON + timedelta(minutes=minutes)) for minutes in (0, 59, 60)] == [True, False, True]


def test_oldest_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_behind, "MAX_RECENT_KEYS", 3)
    keys: RecentKeys[str] = RecentKeys()
    for number in range(10):
        keys.add_if_due(f"{number}", NOON)

    assert [keys.is_due(f"{number}", NOON) for number in (0, 6, 7, 9)] == [True, True, False, False]
