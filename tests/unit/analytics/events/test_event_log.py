import logging
import threading
from datetime import UTC, datetime
from queue import Queue
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, InterfaceError, connection, transaction

from analytics.events import event_log
from analytics.models import OperationEvent

pytestmark = pytest.mark.both_databases

AT = datetime(2030, 1, 1, tzinfo=UTC)


def event(**fields: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"op": "onto.task.get", "ok": True, "status": 200, "latency_ms": 1.5, "trace_id": "tr_1"}
    return event_log.build_event(time=AT, type=OperationEvent.Type.EXEC, **(said | fields))


@pytest.fixture
def before() -> int:
    return event_log.count_lost()


def test_record_writes_at_once_and_whole(db: None) -> None:
    event_log.record_event(
        event(
            tool_name="get_onto_task_details",
            field_errors=[["/a", "type"]],
            dry_run=True,
            replayed=True,
            result_count=7,
            subject="ä'\"%s\\",
        )
    )

    row = OperationEvent.objects.get()
    assert (row.time, row.type, row.source, row.op) == (AT, "exec", "api", "onto.task.get")
    assert (row.tool_name, row.field_errors, row.result_count) == ("get_onto_task_details", [["/a", "type"]], 7)
    assert (row.dry_run, row.replayed, row.ok, row.latency_ms) == (True, True, True, 1.5)
    assert row.subject == "ä'\"%s\\"


def test_record_fills_what_is_not_said_with_the_models_defaults(db: None) -> None:
    event_log.record_event(event())

    row = OperationEvent.objects.get()
    assert (row.code, row.session, row.field_errors, row.result_count, row.dry_run) == ("", "", [], None, False)


def test_record_is_undone_with_its_transaction(db: None) -> None:
    with transaction.atomic():
        event_log.record_event(event())
        transaction.set_rollback(True)

    assert not OperationEvent.objects.exists()


def test_later_writes_nothing_before_it_is_flushed(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        event_log.enqueue_event(event())
    assert not OperationEvent.objects.exists()

    event_log.flush()

    assert OperationEvent.objects.count() == 1


def test_flush_writes_in_bulk_and_in_order(db: None, django_assert_max_num_queries: Any) -> None:
    for number in range(event_log.BATCH_SIZE + 1):
        event_log.enqueue_event(event(turn=str(number)))

    with django_assert_max_num_queries(2 * 3):  # a savepoint around each batch where the test has a transaction open
        event_log.flush()

    turns = OperationEvent.objects.order_by("id").values_list("turn", flat=True)
    assert list(turns) == [str(number) for number in range(event_log.BATCH_SIZE + 1)]


def test_flush_of_nothing_costs_nothing(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        event_log.flush()


def test_flush_by_two_threads_writes_each_event_once(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    monkeypatch.setattr(event_log, "_bulk_insert", lambda _, batch: written.append(len(batch)))
    monkeypatch.setattr(event_log, "connection", _Connection())
    for _ in range(3 * event_log.BATCH_SIZE):
        event_log.enqueue_event(event())

    threads = [threading.Thread(target=event_log.flush) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(written) == 3 * event_log.BATCH_SIZE


class _Connection:
    """Stands for a database that takes everything: a test's own cannot be shared by threads."""

    def cursor(self) -> "_Connection":
        return self

    def __enter__(self) -> "_Connection":
        return self

    def __exit__(self, *error: object) -> None:
        """Close nothing."""


def test_buffer_is_bounded_and_counts_what_it_drops(db: None, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setattr(event_log, "BUFFER_SIZE", 3)

    for number in range(5):
        event_log.enqueue_event(event(turn=str(number)))
    event_log.flush()

    assert event_log.count_lost() - before == 2
    assert list(OperationEvent.objects.order_by("id").values_list("turn", flat=True)) == ["0", "1", "2"]


@pytest.mark.parametrize("failure", [DatabaseError("gone"), InterfaceError("connection already closed")])
def test_flush_without_a_database_counts_and_logs_and_does_not_raise(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, before: int, failure: Exception
) -> None:
    def fails() -> None:
        raise failure

    event_log.enqueue_event(event(subject="canary"))
    event_log.enqueue_event(event())
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(connection, "cursor", fails)
        event_log.flush()

    assert event_log.count_lost() - before == 2
    assert "events.lost count=2" in caplog.text
    assert "canary" not in caplog.text
    event_log.enqueue_event(event())
    event_log.flush()
    assert OperationEvent.objects.count() == 1  # what comes after is written


@pytest.mark.django_db(transaction=True)
def test_flush_of_an_event_that_no_row_can_hold_counts_its_batch_and_goes_on(before: int) -> None:
    event_log.enqueue_event(event(ok=True, code="INTERNAL"))  # breaks a constraint

    event_log.flush()
    event_log.enqueue_event(event())
    event_log.flush()

    assert event_log.count_lost() - before == 1
    assert OperationEvent.objects.count() == 1


def test_discard_forgets_what_is_buffered(db: None) -> None:
    event_log.enqueue_event(event())

    event_log.discard_queued()
    event_log.flush()

    assert not OperationEvent.objects.exists()


@pytest.mark.parametrize("name", ["op", "subject", "session", "turn"])
def test_new_cuts_text_to_its_column(db: None, name: str) -> None:
    event_log.record_event(event(**{name: "x" * 500}))

    assert getattr(OperationEvent.objects.get(), name) == "x" * 200


def test_thread_writes_behind_the_answer_and_is_started_once(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = event_log._EventBuffer()
    finalized: list[Any] = []
    monkeypatch.setattr(event_log, "Finalize", lambda _, flush, exitpriority: finalized.append((flush, exitpriority)))
    monkeypatch.setattr(event_log, "INTERVAL", 0.01)
    written: Queue[str] = Queue()
    monkeypatch.setattr(event_log, "_bulk_insert", lambda _, batch: [written.put(each["turn"]) for each in batch])
    monkeypatch.setattr(event_log, "connection", _Connection())
    buffer._start_thread = event_log._EventBuffer._start_thread.__get__(buffer)  # type: ignore[method-assign]  # as in a server

    buffer.enqueue(event(turn="1"))
    thread = buffer._thread
    assert written.get(timeout=5) == "1"
    buffer.enqueue(event(turn="2"))
    assert written.get(timeout=5) == "2"  # nothing is left to the thread, which outlives this test

    assert buffer._thread is thread
    assert thread is not None
    assert thread.daemon
    assert finalized == [(buffer.flush, 10)]  # a server's worker flushes when it ends


@pytest.mark.parametrize(
    "fields",
    [{"ok": True, "code": "INTERNAL"}, {"ok": False, "code": ""}],
    ids=["code of a success", "failure without"],
)
def test_event_has_a_code_exactly_when_it_failed(db: None, fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match="event_code_when_failed"), transaction.atomic():
        event_log.record_event(event(**fields))
