import gc
import logging
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from django.db import DatabaseError, DataError, InterfaceError, OperationalError

from core.background import write_behind
from core.background.spool import Spool
from core.background.write_behind import RecentKeys, WriteBehindBuffer
from tests.support.servers.processes import eventually

wake_thread = write_behind._wake_thread  # before a fixture replaces it
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
    monkeypatch.setattr(write_behind, "_wake_thread", lambda: None)


def put_all(buffer: WriteBehindBuffer[int], items: Iterable[int]) -> None:
    for item in items:
        buffer.put(item)


def test_flush_writes_items_in_order_and_in_batches(table: FakeTable) -> None:
    buffer = WriteBehindBuffer("numbers", table.write, capacity=100, batch_size=2)
    put_all(buffer, range(5))
    assert len(buffer) == 5

    buffer.flush()
    buffer.flush()

    assert table.batches == [[0, 1], [2, 3], [4]]


def test_items_that_come_during_a_write_are_written_together_next_time(table: FakeTable) -> None:
    def write(batch: list[int]) -> None:
        if batch == [0]:
            put_all(buffer, range(1, 4))
        table.write(batch)

    buffer = WriteBehindBuffer("numbers", write, capacity=100)
    buffer.put(0)

    buffer.flush()
    assert table.batches == [[0]]
    buffer.flush()
    assert table.batches == [[0], [1, 2, 3]]


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
    assert [record.getMessage().partition("\n")[0] for record in caplog.records] == [
        "numbers.write_failed queued=3 spooled_bytes=0"
    ]


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
def finalizers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Let the threads start as in a server, and return what they register for the end of the process.

    They end with the test: else they could take what later tests put into the buffers of this process.
    """
    registered: list[Any] = []
    monkeypatch.setattr(write_behind, "_wake_thread", wake_thread)
    monkeypatch.setattr(write_behind, "_threads", None)
    monkeypatch.setattr(write_behind, "INTERVAL", 0.01)
    monkeypatch.setattr(write_behind, "Finalize", lambda _, call, exitpriority: registered.append((call, exitpriority)))
    before = threading.enumerate()
    yield registered
    if write_behind._threads is not None:
        for event in (write_behind._threads._is_needed, write_behind._threads._begins):
            monkeypatch.setattr(event, "wait", lambda: False)
            event.set()
        for thread in threading.enumerate():
            if thread not in before:
                thread.join(20)


def test_one_thread_writes_the_items_of_all_buffers(finalizers: list[Any]) -> None:
    written: Queue[tuple[str, list[int]]] = Queue()
    first = WriteBehindBuffer[int]("first", lambda batch: written.put(("first", batch)), capacity=10)
    second = WriteBehindBuffer[int]("second", lambda batch: written.put(("second", batch)), capacity=10)

    first.put(1)
    threads = write_behind._threads
    assert written.get(timeout=5) == ("first", [1])
    second.put(2)
    assert written.get(timeout=5) == ("second", [2])

    assert write_behind._threads is threads
    assert finalizers == [(write_behind.flush_at_exit, 10)]  # a worker process writes the rest when it ends


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


class StoredTwice(Exception):
    pass


class SlowTable(FakeTable):
    """A table that stores each number once, like events. A write waits until it may end."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.fails_after_commit = False

    @property
    def numbers(self) -> list[int]:
        return [number for batch in self.batches for number in batch]

    def write(self, batch: list[int]) -> None:
        self.began.set()
        assert self.may_end.wait(10)
        if set(batch) & set(self.numbers):
            raise StoredTwice
        super().write(list(batch))
        if self.fails_after_commit:
            raise OperationalError

    def rewrite(self, batch: list[int], may_be_stored: bool) -> None:
        if new := [number for number in batch if not may_be_stored or number not in self.numbers]:
            self.write(new)

    def build_buffer(self, capacity: int = 100) -> WriteBehindBuffer[int]:
        return WriteBehindBuffer(
            "numbers",
            self.write,
            capacity=capacity,
            batch_size=2,
            retries=True,
            rewrite=self.rewrite,
            spool=Spool("numbers", lambda number: str(number).encode(), int),
        )


@pytest.fixture
def slow_table(tmp_path: Path, settings: Any) -> SlowTable:
    settings.GATEWAY_SPOOL_FOLDER = tmp_path
    return SlowTable()


def test_items_wait_on_disk_while_the_database_is_down_and_are_written_once_in_order(
    slow_table: SlowTable, tmp_path: Path
) -> None:
    buffer = slow_table.build_buffer(capacity=3)
    slow_table.failure = OperationalError()
    for first in range(0, 30, 3):
        put_all(buffer, range(first, first + 3))
        buffer.flush()
        buffer.spool()
        assert len(buffer) == 0
    assert buffer.spooled_bytes > 30
    slow_table.failure = None
    put_all(buffer, range(30, 32))
    buffer.flush()

    assert (slow_table.numbers, buffer.lost) == (list(range(32)), 0)
    assert list(tmp_path.iterdir()) == []


def test_items_whose_write_takes_long_are_on_disk_until_it_ends(slow_table: SlowTable, tmp_path: Path) -> None:
    buffer = slow_table.build_buffer()
    slow_table.may_end.clear()
    put_all(buffer, range(3))
    with ThreadPoolExecutor(1) as pool:
        flushing = pool.submit(buffer.flush)
        assert slow_table.began.wait(5)
        buffer.spool()
        put_all(buffer, range(3, 5))
        buffer.spool()
        assert [path.read_text() for path in tmp_path.iterdir()] == ["0\n1\n2\n3\n4\n"]
        slow_table.may_end.set()
        flushing.result()

    assert (slow_table.numbers, buffer.lost) == (list(range(5)), 0)


@contextmanager
def queue_at_any_moment(buffer: WriteBehindBuffer[int], items: Iterator[int]) -> Iterator[None]:
    """Queue items wherever Python may switch to another thread inside a statement: where it collects garbage."""

    def queue(phase: str, _: Any) -> None:
        if phase == "start":
            put_all(buffer, islice(items, 1))

    threshold = gc.get_threshold()
    gc.callbacks.append(queue)
    gc.set_threshold(1)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(queue)


def test_items_are_queued_while_others_are_moved_to_disk(slow_table: SlowTable) -> None:
    buffer = slow_table.build_buffer(capacity=1_000)
    slow_table.may_end.clear()
    put_all(buffer, range(10))
    with ThreadPoolExecutor(1) as pool:
        flushing = pool.submit(buffer.flush)
        try:
            assert slow_table.began.wait(5)
            with queue_at_any_moment(buffer, iter(range(10, 500))):
                buffer.spool()
        finally:
            slow_table.may_end.set()
        flushing.result()
    buffer.flush()

    assert len(slow_table.numbers) > 10
    assert (slow_table.numbers, buffer.lost) == (list(range(len(slow_table.numbers))), 0)


def test_items_go_to_no_disk_if_the_database_takes_them_in_time(slow_table: SlowTable, tmp_path: Path) -> None:
    buffer = slow_table.build_buffer()
    for number in range(3):
        buffer.put(number)
        buffer.flush()
        buffer.put(-number - 1)
        buffer.spool()
        assert list(tmp_path.iterdir()) == []
    buffer.discard()


@pytest.mark.parametrize("max_bytes", [1_000, 0])
def test_items_of_a_write_that_failed_after_its_commit_are_written_once(
    slow_table: SlowTable, settings: Any, max_bytes: int
) -> None:
    settings.GATEWAY_SPOOL_MAX_BYTES = max_bytes
    buffer = slow_table.build_buffer()
    put_all(buffer, range(5))
    slow_table.fails_after_commit = True
    buffer.flush()
    slow_table.fails_after_commit = False
    buffer.flush()

    assert (slow_table.numbers, buffer.lost) == (list(range(5)), 0)


def test_full_memory_and_disk_are_said_once(
    slow_table: SlowTable, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.GATEWAY_SPOOL_MAX_BYTES = 4  # two items
    buffer = slow_table.build_buffer(capacity=3)
    slow_table.failure = OperationalError()
    with caplog.at_level(logging.ERROR):
        for number in range(9):
            buffer.put(number)
            buffer.flush()
        assert buffer.is_full
        slow_table.failure = None
        buffer.flush()

    assert (slow_table.numbers, buffer.lost, buffer.is_full) == ([0, 1, 2, 3, 4], 4, False)
    assert [record.getMessage().partition(" ")[0] for record in caplog.records] == [
        "numbers.write_failed",
        "numbers.spool_failed",
        "numbers.full",
    ]


def test_items_that_a_dead_process_left_are_written_once(slow_table: SlowTable) -> None:
    dead = slow_table.build_buffer()
    slow_table.fails_after_commit = True
    put_all(dead, range(5))
    dead.flush()  # stores 0 and 1, and does not know
    assert dead._spool
    dead._spool.leave()  # as SIGKILL does
    slow_table.fails_after_commit = False

    heir = slow_table.build_buffer()
    heir.adopt()
    assert heir  # its thread writes without a new item
    heir.flush()

    assert (slow_table.numbers, heir.lost) == (list(range(5)), 0)


def test_file_is_not_taken_over_while_a_batch_is_being_written(slow_table: SlowTable) -> None:
    dead = slow_table.build_buffer()
    slow_table.failure = OperationalError()
    put_all(dead, range(2))
    dead.flush()
    assert dead._spool
    dead._spool.leave()
    slow_table.failure = None
    slow_table.may_end.clear()
    heir = slow_table.build_buffer()
    heir.put(10)
    with ThreadPoolExecutor(1) as pool:
        flushing = pool.submit(heir.flush)
        assert slow_table.began.wait(5)
        heir.adopt()
        heir.spool()
        slow_table.may_end.set()
        flushing.result()
    heir.adopt()
    heir.flush()

    assert slow_table.numbers == [10, 0, 1]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of Python 3.12 and later
def test_forked_process_leaves_queued_items_to_its_parent(slow_table: SlowTable) -> None:
    buffer = slow_table.build_buffer()
    slow_table.failure = OperationalError()
    put_all(buffer, range(2))
    buffer.flush()
    buffer.put(2)
    answers = get_context("fork").SimpleQueue()
    child = get_context("fork").Process(target=lambda: answers.put((bool(buffer), len(buffer))))
    child.start()
    child.join()
    slow_table.failure = None
    buffer.flush()

    assert answers.get() == (False, 0)
    assert slow_table.numbers == [0, 1, 2]


def test_thread_moves_items_to_disk_while_a_write_takes_long(
    slow_table: SlowTable, finalizers: list[Any], tmp_path: Path
) -> None:
    buffer = slow_table.build_buffer()
    slow_table.may_end.clear()
    put_all(buffer, range(5))
    # Hidden files are still being written, and renamed then.
    eventually(lambda: [path.read_text() for path in tmp_path.glob("[!.]*")] == ["0\n1\n2\n3\n4\n"])
    slow_table.may_end.set()
    eventually(lambda: slow_table.numbers == list(range(5)) and not list(tmp_path.iterdir()))


def test_thread_moves_items_to_disk_while_another_buffer_is_written(
    slow_table: SlowTable, finalizers: list[Any], tmp_path: Path
) -> None:
    began, may_end = threading.Event(), threading.Event()

    def write_slowly(_: list[int]) -> None:
        began.set()
        assert may_end.wait(60)

    other, buffer = WriteBehindBuffer[int]("other", write_slowly, capacity=10), slow_table.build_buffer()
    other.put(1)
    assert began.wait(60)
    put_all(buffer, range(3))

    try:
        eventually(lambda: [path.read_text() for path in tmp_path.glob("[!.]*")] == ["0\n1\n2\n"], within=10)
    finally:
        may_end.set()
    eventually(lambda: slow_table.numbers == [0, 1, 2] and not list(tmp_path.iterdir()))


def test_threads_go_on_after_an_error(
    finalizers: list[Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_behind, "FAILURE_SECONDS", 0.0)
    written: Queue[list[int]] = Queue()
    failures = [RuntimeError("of a step")]

    def report() -> None:
        if failures:
            raise failures.pop()

    buffer = WriteBehindBuffer[int]("numbers", written.put, capacity=10, report=report)
    buffer.put(1)
    assert written.get(timeout=5) == [1]
    eventually(lambda: not failures, what="the error")
    buffer.put(2)

    assert written.get(timeout=5) == [2]
    assert [each.partition("\n")[0] for each in caplog.messages] == ["write_behind.failed"]
