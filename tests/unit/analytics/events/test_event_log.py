from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import psycopg
import pytest
from django.db import IntegrityError, OperationalError, transaction

from analytics.events import event_log, forgotten_subjects
from analytics.events.models import EventLoss, OperationEvent
from audit.models import AuditEntry
from core.background import write_behind
from core.database import watch
from tests.support.clients.metric_values import read_metric
from tests.support.loops import for_each
from tests.support.servers.postgres import needs_postgres

pytestmark = pytest.mark.both_databases

AT = datetime(2030, 1, 1, tzinfo=UTC)


def build_event(**fields: Any) -> dict[str, Any]:
    fields_of_a_success: dict[str, Any] = {"op": "onto.task.get", "ok": True, "status": 200}
    fields_of_a_success |= {"latency_ms": 1.5, "trace_id": "tr_1"}
    return event_log.build_event(time=AT, type=OperationEvent.Type.EXEC, **(fields_of_a_success | fields))


@pytest.fixture
def lost_before() -> int:
    return event_log._buffer.lost


def test_record_writes_all_fields_at_once_or_their_defaults(db: None) -> None:
    event_log.record_event(
        build_event(
            tool_name="get_onto_task_details",
            field_errors=[["/a", "type"]],
            dry_run=True,
            replayed=True,
            result_count=7,
            subject="ä'\"%s\\",
            changed_ids=["a", "b"],
            unchanged=True,
        )
    )

    row = OperationEvent.objects.get()
    assert (row.time, row.type, row.source, row.op) == (AT, "exec", "api", "onto.task.get")
    assert (row.tool_name, row.field_errors, row.result_count) == ("get_onto_task_details", [["/a", "type"]], 7)
    assert (row.dry_run, row.replayed, row.ok, row.latency_ms) == (True, True, True, 1.5)
    assert row.subject == "ä'\"%s\\"
    assert (row.changed_ids, row.unchanged) == (["a", "b"], True)
    event_log.record_event(build_event())
    row = OperationEvent.objects.latest("id")
    assert (row.code, row.session, row.field_errors, row.result_count, row.dry_run) == ("", "", [], None, False)


def test_record_is_undone_with_its_transaction(db: None) -> None:
    with transaction.atomic():
        event_log.record_event(build_event())
        transaction.set_rollback(True)

    assert not OperationEvent.objects.exists()


def test_flush_writes_in_bulk_and_in_order(db: None, django_assert_max_num_queries: Any) -> None:
    for number in range(event_log._buffer.batch_size + 1):
        event_log.enqueue_event(build_event(turn=str(number)))

    with django_assert_max_num_queries(2 * 3):  # with a savepoint around each batch, inside the test's transaction
        event_log.flush()

    turns = OperationEvent.objects.order_by("id").values_list("turn", flat=True)
    assert list(turns) == [str(number) for number in range(event_log._buffer.batch_size + 1)]


def test_events_that_a_failed_write_stored_are_not_stored_again(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    write = event_log._bulk_insert

    def write_and_fail(*args: Any) -> None:
        write(*args)
        raise OperationalError("the connection was lost after the commit")

    for number in range(3):
        event_log.enqueue_event(build_event(turn=str(number), latency_ms=number / 3))
    with monkeypatch.context() as patch:
        patch.setattr(event_log, "_bulk_insert", write_and_fail)
        event_log.flush()
    event_log.enqueue_event(build_event(turn="3"))
    event_log.flush()

    assert list(OperationEvent.objects.order_by("id").values_list("turn", flat=True)) == ["0", "1", "2", "3"]


@pytest.mark.django_db(transaction=True)
def test_events_wait_on_disk_with_all_their_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    fields: dict[str, Any] = {
        "field_errors": [["/a", "type"]],
        "subject": "ä'\"%s\\\n\u2028",
        "changed_ids": ["a"],
        "progress": {"done": 1},
        "content": {"args": {"n": 1.5}},
        "result_count": None,
    }
    with monkeypatch.context() as patch:
        patch.setattr(event_log, "_bulk_insert", mock.Mock(side_effect=OperationalError))
        event_log.enqueue_event(build_event(**fields))
        event_log.flush()
        assert (len(event_log._buffer), event_log._buffer.spooled_bytes > 100) == (0, True)
        event_log.update_gauges()
        assert read_metric("gateway_events_spooled_bytes") > 100
    event_log.flush()

    row = OperationEvent.objects.get()
    assert (row.time, {name: getattr(row, name) for name in fields}) == (AT, fields)
    event_log.update_gauges()
    assert read_metric("gateway_events_spooled_bytes") == 0


def test_event_on_disk_of_a_subject_that_was_forgotten_is_not_stored(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(event_log, "_bulk_insert", mock.Mock(side_effect=OperationalError))
        for subject in ("ana", "ben", ""):
            event_log.enqueue_event(build_event(subject=subject))
        later = build_event(subject="ana", turn="later") | {"time": AT + timedelta(minutes=2)}
        event_log.enqueue_event(later)
        event_log.flush()
    forgotten_subjects.record_forgotten("ana", by="tests", at=AT + timedelta(minutes=1))
    event_log.flush()

    rows = OperationEvent.objects.order_by("id").values_list("subject", "turn")
    assert list(rows) == [("ben", ""), ("", ""), ("ana", "later")]
    assert not AuditEntry.objects.filter(name__contains="ana").exists()


@needs_postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("seconds", [write_behind.WRITE_SECONDS, 0])
def test_events_are_written_once_if_a_lost_connection_still_writes_them(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(write_behind, "INTERVAL", 0)  # after which a write that failed is repeated
    monkeypatch.setattr(write_behind, "WRITE_SECONDS", seconds)  # after which a write is given up
    event = build_event(turn="1")
    with watch._connect() as lost, lost.cursor() as cursor:
        with suppress(psycopg.errors.AdminShutdown), cursor.copy(event_log._COPY) as copy:
            copy.write_row(event_log._to_rows([event])[0])
            with mock.patch.object(event_log, "_bulk_insert", side_effect=OperationalError):
                event_log.enqueue_event(event)
                event_log.flush()
            event_log.flush()
            assert not OperationEvent.objects.exists()
        event_log.flush()

    assert OperationEvent.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_flush_counts_a_batch_with_an_invalid_event_as_lost_and_continues(lost_before: int) -> None:
    event_log.enqueue_event(build_event(ok=True, code="INTERNAL"))  # violates a constraint

    event_log.flush()
    event_log.enqueue_event(build_event())
    event_log.flush()

    assert event_log._buffer.lost - lost_before == 1
    assert OperationEvent.objects.count() == 1


def test_lost_events_are_stored_once_when_the_database_is_back(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    event_log.update_metrics()  # what other tests lost
    EventLoss.objects.all().delete()
    for name in ("_counted_as_lost", "_stored_as_lost"):
        monkeypatch.setattr(event_log, name, getattr(event_log, name))  # restored at the end
    monkeypatch.setattr(event_log._buffer, "lost", event_log._buffer.lost + 7)

    with mock.patch.object(EventLoss.objects, "create", side_effect=OperationalError), pytest.raises(OperationalError):
        event_log.update_metrics()
    event_log.update_metrics()
    event_log.update_metrics()

    assert list(EventLoss.objects.values_list("count", flat=True)) == [7]


def test_record_truncates_text_to_its_column(db: None) -> None:
    names = ("op", "subject", "session", "turn")
    event_log.record_event(build_event(**dict.fromkeys(names, "x" * 500)))

    assert OperationEvent.objects.values_list(*names).get() == ("x" * 200,) * 4


@for_each("fields", [{"ok": True, "code": "INTERNAL"}, {"ok": False, "code": ""}])
def test_event_must_have_a_code_exactly_when_it_failed(db: None, fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError, match="event_code_when_failed"), transaction.atomic():
        event_log.record_event(build_event(**fields))
