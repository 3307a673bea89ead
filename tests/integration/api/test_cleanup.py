"""Periodic jobs: they delete expired rows, and each job runs in one process at a time."""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from analytics import retention as analytics_retention
from analytics.alerts.models import Alert, AlertRule
from analytics.events.models import EventLoss, OperationEvent
from analytics.rollups.models import OpDaily, SubjectFigures
from analytics.turns.models import Feedback, ToolSelection, Turn
from core import manifest
from core.background import poller
from core.background import retention as core_retention
from core.manifest import Job, Manifest
from gateway.jobs import retention, runner
from gateway.models import Client, IdempotencyRecord, PeriodicJob
from tests.support.concurrency import run_at_once
from tests.support.rows.analytics_rows import store_contents

pytestmark = pytest.mark.both_databases

NOW = timezone.now()
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
JOB = "count"
RECORDS = "delete_records"

runs: list[datetime] = []
work_left: list[bool] = []  # what the next runs return


def record_run(at: datetime) -> bool:
    runs.append(at)
    return work_left.pop(0) if work_left else False


COUNT_JOB = Job("count", record_run, timedelta(minutes=5))


@pytest.fixture(autouse=True)
def _jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "_collected", Manifest(jobs=[COUNT_JOB]))
    runs.clear()
    work_left.clear()


@pytest.fixture
def create_records(db: None) -> Callable[..., None]:
    client = Client.objects.create(name="chat")

    def create(*keys: str, expires_at: datetime) -> None:
        IdempotencyRecord.objects.bulk_create(
            IdempotencyRecord(
                client=client,
                key=key,
                state="done",
                status=200,
                answer="{}",
                created_at=expires_at - timedelta(hours=24),
                expires_at=expires_at,
            )
            for key in keys
        )

    return create


def read_keys() -> list[str]:
    return sorted(IdempotencyRecord.objects.values_list("key", flat=True))


def test_idempotency_records_are_deleted_when_expired(create_records: Callable[..., None]) -> None:
    create_records("past", expires_at=NOW - timedelta(seconds=1))
    create_records("now", expires_at=NOW)
    create_records("later", expires_at=NOW + timedelta(seconds=1))

    assert retention.delete_idempotency_records(NOW) is False

    assert read_keys() == ["later"]


def test_idempotency_records_are_deleted_in_batches_oldest_first(
    create_records: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core_retention, "BATCH_SIZE", 2)
    create_records("c", expires_at=NOW - timedelta(hours=1))
    create_records("a", "b", expires_at=NOW - timedelta(hours=3))

    assert retention.delete_idempotency_records(NOW) is True
    assert read_keys() == ["c"]
    assert retention.delete_idempotency_records(NOW) is False
    assert read_keys() == []


def test_figures_are_deleted_after_their_retention(db: None, settings: Any) -> None:
    settings.GATEWAY_FIGURES_DAYS = 30
    for days in (31, 30, 0):
        OpDaily.objects.create(day=(NOON - timedelta(days=days)).date(), op=f"{days}", is_settled=True)

        EventLoss.objects.create(time=NOON - timedelta(days=days), count=days + 1)

    analytics_retention.delete_figures(NOON)

    assert set(OpDaily.objects.values_list("op", flat=True)) == {"30", "0"}
    assert set(EventLoss.objects.values_list("count", flat=True)) == {31, 1}


def test_alerts_are_deleted_after_the_retention_of_figures_once_they_closed(db: None, settings: Any) -> None:
    settings.GATEWAY_FIGURES_DAYS = 30
    rule, long_ago = AlertRule.objects.latest("id"), NOON - timedelta(days=31)
    figures = {"value": 1, "count": 1, "worst_value": 1, "worst_count": 1, "exceeded_at": long_ago}
    for name, closed_at in (("closed", long_ago), ("closed lately", NOON), ("open", None)):
        Alert.objects.create(rule=rule, scope_value=name, opened_at=long_ago, closed_at=closed_at, **figures)

    analytics_retention.delete_figures(NOON)

    assert set(Alert.objects.values_list("scope_value", flat=True)) == {"closed lately", "open"}


def create_event(days: int, **fields: Any) -> None:
    values = {"type": "exec", "ok": True, "status": 200, "latency_ms": 1, "op": f"{days}"}
    OperationEvent.objects.create(time=NOON - timedelta(days=days), **values | fields)


def test_events_and_turns_are_deleted_after_their_retention(db: None, settings: Any) -> None:
    settings.GATEWAY_EVENT_DAYS = 30
    for days in (31, 30, 0):
        at, name = NOON - timedelta(days=days), f"{days}"
        create_event(days)
        Turn.objects.create(client="chat", turn=name, time=at)
        ToolSelection.objects.create(client="chat", turn=name, time=at)
        Feedback.objects.create(client="chat", turn=name, time=at, thumb="up")
        SubjectFigures.objects.create(subject=name, begin=at, is_settled=True)

    assert (analytics_retention.delete_events(NOON), analytics_retention.delete_turns(NOON)) == (False, False)

    assert set(OperationEvent.objects.values_list("op", flat=True)) == {"30", "0"}
    for model in (Turn, ToolSelection, Feedback):
        assert set(model.objects.values_list("turn", flat=True)) == {"30", "0"}
    assert set(SubjectFigures.objects.values_list("subject", flat=True)) == {"30", "0"}


def test_args_and_results_are_deleted_before_their_events(db: None) -> None:
    store_contents(7)
    for days in (8, 6):
        create_event(days, content={"args": {}})

    assert analytics_retention.delete_contents(NOON) is False
    assert dict(OperationEvent.objects.values_list("op", "content")) == {"8": None, "6": {"args": {}}}

    store_contents(0)
    analytics_retention.delete_contents(NOON)
    assert not OperationEvent.objects.filter(content__isnull=False).exists()


def test_sessions_are_deleted_when_expired(db: None) -> None:
    for name, expires in (("past", NOW - timedelta(days=1)), ("later", NOW + timedelta(days=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=expires)

    retention.delete_sessions(NOW)

    assert [session.session_key for session in Session.objects.all()] == ["later"]


def test_job_runs_at_once_and_then_after_each_interval(db: None) -> None:
    counts = []
    for minutes in (0, 1, 3.9, 0.2, 1, 24):
        pass_time(minutes)
        runner.run_due_jobs(at=NOW)
        counts.append(len(runs))

    assert counts == [1, 1, 1, 2, 2, 3]
    assert runs == [NOW] * 3


def pass_time(minutes: float) -> None:
    """Let a little more time pass: jobs go by the clock of the database, which may not have moved since."""
    PeriodicJob.objects.update(held_until=F("held_until") - timedelta(minutes=minutes, seconds=1))


def test_job_with_work_left_runs_again_at_once(db: None) -> None:
    work_left.extend([True, True])

    for _ in range(5):
        runner.run_due_jobs(at=NOW)

    assert len(runs) == 3


def test_job_that_fails_is_logged_and_runs_again(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(manifest, "_collected", Manifest(jobs=[Job("fail", fail, timedelta(minutes=5)), COUNT_JOB]))

    with caplog.at_level(logging.ERROR, "gateway.jobs.runner"):
        runner.run_due_jobs(at=NOW)
        pass_time(5)
        runner.run_due_jobs(at=NOW)

    assert len(runs) == 2
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def fail(at: datetime) -> bool:
    raise RuntimeError("the job is broken")


@pytest.fixture
def due_job(transactional_db: None) -> Iterator[None]:
    PeriodicJob.objects.create(name=JOB, held_until=Now())
    yield
    connection.close()


@pytest.mark.parametrize("_attempt", range(5))
def test_job_runs_once_when_two_processes_find_it_due(due_job: None, _attempt: int) -> None:
    # Both have read that it is due.
    claimed = run_at_once([lambda: runner.claim_job(COUNT_JOB) is not None] * 2, connected=True)

    assert sorted(claimed) == [False, True]


def test_new_job_runs_once_when_two_processes_start(transactional_db: None) -> None:
    run_at_once([lambda: runner.run_due_jobs(at=NOW)] * 2, connected=True)

    assert len(runs) == 1
    assert PeriodicJob.objects.count() == 1


def test_runner_needs_one_query_when_nothing_is_due(db: None, django_assert_num_queries: Any) -> None:
    runner.run_due_jobs(at=NOW)

    with django_assert_num_queries(1):
        runner.run_due_jobs(at=NOW)


def test_run_jobs_runs_due_jobs_until_no_work_is_left(
    create_records: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job("delete_records", retention.delete_idempotency_records, timedelta(minutes=5))
    monkeypatch.setattr(manifest, "_collected", Manifest(jobs=[job]))
    monkeypatch.setattr(core_retention, "BATCH_SIZE", 2)
    create_records(*"abcde", expires_at=NOW - timedelta(hours=1))
    output = StringIO()

    call_command("run_jobs", stdout=output)
    call_command("run_jobs", stdout=output)

    assert read_keys() == []
    assert output.getvalue().splitlines() == [f"Ran {RECORDS}.", "Nothing is due."]


def test_run_jobs_waits_for_what_jobs_started_in_the_background(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, ends = threading.Event(), []
    join = poller.join_background_threads

    def start_work(_: datetime) -> bool:
        poller.run_in_background("work", lambda: ends.append(waits.wait(60)))
        return False

    def note_and_join() -> None:
        waits.set()
        join()

    monkeypatch.setattr(manifest, "_collected", Manifest(jobs=[Job("starts work", start_work, timedelta(minutes=5))]))
    monkeypatch.setattr(poller, "join_background_threads", note_and_join)

    call_command("run_jobs", stdout=StringIO())

    assert ends == [True]


def test_rows_of_jobs_that_no_app_declares_are_deleted_after_a_day(db: None) -> None:
    for name, days in (("old.name", 2), ("just.renamed", 0)):
        PeriodicJob.objects.create(name=name, held_until=Now() - timedelta(days=days))

    runner.run_due_jobs(at=NOW)

    assert set(PeriodicJob.objects.values_list("name", flat=True)) == {JOB, "just.renamed"}
