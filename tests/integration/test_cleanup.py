"""Periodic jobs: what has expired goes, each job runs in one process at a time."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import connection
from django.utils import timezone
from django.utils.module_loading import import_string

from analytics.models import OpDaily, OperationEvent, ToolSelection, Turn
from config import settings as ours
from core import poller
from gateway.jobs import retention, runner
from gateway.models import Client, IdempotencyRecord, PeriodicJob

pytestmark = pytest.mark.both_databases

NOW = timezone.now()
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
JOB = f"{__name__}.count"
RECORDS = "gateway.jobs.retention.idempotency_records"

runs: list[datetime] = []
left: list[bool] = []  # what the next runs say


def count(at: datetime) -> bool:
    runs.append(at)
    return left.pop(0) if left else False


@pytest.fixture(autouse=True)
def _jobs(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.GATEWAY_JOBS = {JOB: timedelta(minutes=5)}
    monkeypatch.setattr(runner, "_next_poll", 0.0)
    runs.clear()
    left.clear()


@pytest.fixture
def records(db: None) -> Callable[..., None]:
    client = Client.objects.create(name="chat")

    def make(*keys: str, expires_at: datetime) -> None:
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

    return make


def kept() -> list[str]:
    return sorted(IdempotencyRecord.objects.values_list("key", flat=True))


def test_settings_name_jobs_that_are_there() -> None:
    from_settings = ours.GATEWAY_JOBS

    assert all(callable(import_string(name)) for name in from_settings)


def test_records_go_once_they_are_past_their_time(records: Callable[..., None]) -> None:
    records("past", expires_at=NOW - timedelta(seconds=1))
    records("now", expires_at=NOW)
    records("later", expires_at=NOW + timedelta(seconds=1))

    assert retention.idempotency_records(NOW) is False

    assert kept() == ["later"]


def test_records_go_oldest_first_and_a_batch_at_a_time(
    records: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH_SIZE", 2)
    records("c", expires_at=NOW - timedelta(hours=1))
    records("a", "b", expires_at=NOW - timedelta(hours=3))

    assert retention.idempotency_records(NOW) is True
    assert kept() == ["c"]
    assert retention.idempotency_records(NOW) is False
    assert kept() == []


def test_a_full_batch_is_a_thousand_rows(records: Callable[..., None]) -> None:
    records(*(f"key-{number}" for number in range(1_200)), expires_at=NOW)

    assert retention.idempotency_records(NOW) is True
    assert len(kept()) == 200


def test_figures_go_once_their_days_are_over(db: None, settings: Any) -> None:
    settings.GATEWAY_FIGURES_DAYS = 30
    for days in (31, 30, 0):
        OpDaily.objects.create(day=(NOON - timedelta(days=days)).date(), op=f"{days}", is_settled=True)

    retention.figures(NOON)

    assert set(OpDaily.objects.values_list("op", flat=True)) == {"30", "0"}


def test_events_and_turns_go_once_their_days_are_over(db: None, settings: Any) -> None:
    settings.GATEWAY_EVENT_DAYS = 30
    for days in (31, 30, 0):
        at, name = NOON - timedelta(days=days), f"{days}"
        OperationEvent.objects.create(time=at, type="help", ok=True, status=200, latency_ms=1, op=name, trace_id="tr")
        Turn.objects.create(client="chat", turn=name, time=at)
        ToolSelection.objects.create(client="chat", turn=name, time=at)

    assert (retention.events(NOON), retention.turns(NOON)) == (False, False)

    assert set(OperationEvent.objects.values_list("op", flat=True)) == {"30", "0"}
    for model in (Turn, ToolSelection):
        assert set(model.objects.values_list("turn", flat=True)) == {"30", "0"}


def test_args_and_results_go_before_their_events(db: None, settings: Any) -> None:
    settings.GATEWAY_CONTENT_DAYS = 7
    for days in (8, 6):
        OperationEvent.objects.create(
            time=NOON - timedelta(days=days),
            content={"args": {}},
            type="exec",
            ok=True,
            status=200,
            latency_ms=1,
            op=f"{days}",
            trace_id="tr",
        )

    assert retention.contents(NOON) is False
    assert dict(OperationEvent.objects.values_list("op", "content")) == {"8": None, "6": {"args": {}}}

    settings.GATEWAY_CONTENT_DAYS = 0
    retention.contents(NOON)
    assert not OperationEvent.objects.filter(content__isnull=False).exists()


def test_sessions_go_once_they_are_past_their_time(db: None) -> None:
    for name, expires in (("past", NOW - timedelta(days=1)), ("later", NOW + timedelta(days=1))):
        Session.objects.create(session_key=name, session_data="", expire_date=expires)

    retention.sessions(NOW)

    assert [session.session_key for session in Session.objects.all()] == ["later"]


def test_a_job_runs_at_first_and_then_when_its_interval_is_over(db: None) -> None:
    for minutes in (0, 1, 4.99, 5, 6, 30):
        runner.run_due_jobs(at=NOW + timedelta(minutes=minutes))

    assert [(at - NOW).seconds / 60 for at in runs] == [0, 5, 30]
    assert PeriodicJob.objects.get().next_run == NOW + timedelta(minutes=35)


def test_a_job_with_work_left_is_due_again_at_once(db: None) -> None:
    left.extend([True, True])

    for _ in range(5):
        runner.run_due_jobs(at=NOW)

    assert len(runs) == 3


def test_a_job_that_fails_is_logged_and_comes_again(db: None, settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.GATEWAY_JOBS = {f"{__name__}.breaks": timedelta(minutes=5), JOB: timedelta(minutes=5)}

    with caplog.at_level(logging.ERROR, "gateway.jobs.runner"):
        runner.run_due_jobs(at=NOW)
        runner.run_due_jobs(at=NOW + timedelta(minutes=5))

    assert len(runs) == 2
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def breaks(at: datetime) -> bool:
    raise RuntimeError("the job is broken")


@pytest.fixture
def due(transactional_db: None) -> Iterator[None]:
    PeriodicJob.objects.create(name=JOB, next_run=NOW)
    yield
    connection.close()


@pytest.mark.parametrize("_attempt", range(5))
def test_a_job_runs_once_when_two_processes_find_it_due_at_the_same_time(due: None, _attempt: int) -> None:
    barrier = threading.Barrier(2)

    def look() -> bool:
        try:
            connection.ensure_connection()
            barrier.wait(20)
            return runner._claim_job(JOB, NOW)  # both have read that it is due
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        claimed = [future.result() for future in [pool.submit(look) for _ in range(2)]]

    assert sorted(claimed) == [False, True]


def test_a_job_of_no_row_yet_runs_once_when_two_processes_start_at_the_same_time(transactional_db: None) -> None:
    barrier = threading.Barrier(2)

    def look() -> None:
        try:
            connection.ensure_connection()
            barrier.wait(20)
            runner.run_due_jobs(at=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(look) for _ in range(2)]:
            future.result()

    assert len(runs) == 1
    assert PeriodicJob.objects.count() == 1


def test_the_follower_looks_every_few_seconds_and_again_at_once_where_work_is_left(
    db: None, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.GATEWAY_JOBS = {JOB: timedelta(0)}
    settings.GATEWAY_FOLLOWS = ["gateway.jobs.runner.follow"]
    monkeypatch.setattr(poller, "close_old_connections", lambda: None)
    left.append(True)

    for _ in range(4):
        poller.refresh()
    assert len(runs) == 2

    monkeypatch.setattr(runner, "_next_poll", 0.0)
    poller.refresh()
    assert len(runs) == 3


def test_looking_costs_one_query_where_nothing_is_due(db: None, django_assert_num_queries: Any) -> None:
    runner.run_due_jobs(at=NOW)

    with django_assert_num_queries(1):
        runner.run_due_jobs(at=NOW)


def test_run_jobs_runs_what_is_due_until_nothing_is_left(
    records: Callable[..., None], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.GATEWAY_JOBS = {RECORDS: timedelta(minutes=5)}
    monkeypatch.setattr(retention, "BATCH_SIZE", 2)
    records(*"abcde", expires_at=NOW - timedelta(hours=1))
    told = StringIO()

    call_command("run_jobs", stdout=told)
    call_command("run_jobs", stdout=told)

    assert kept() == []
    assert told.getvalue().splitlines() == [f"Ran {RECORDS}.", "Nothing is due."]
