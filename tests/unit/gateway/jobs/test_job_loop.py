"""The loop that runs periodic jobs: no job holds up another, and each runs in one process at a time."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest
from django.db import DatabaseError, connection
from django.db.models import F
from django.db.models.functions import Now

from core import manifest
from core.background import leases, poller
from core.manifest import Job, Manifest
from gateway.jobs import job_loop, runner
from gateway.jobs.job_loop import JobLoop
from gateway.models import PeriodicJob
from tests.support.concurrency import run_at_once
from tests.support.servers.processes import eventually

pytestmark = [pytest.mark.both_databases, pytest.mark.django_db(transaction=True)]

HOUR = timedelta(hours=1)
WITHIN = 60  # seconds


@dataclass
class Work:
    """The function of a job, which waits until it may end."""

    name: str
    interval: timedelta = HOUR
    runs: int = 0
    begun: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)

    def __call__(self, _: datetime) -> bool:
        self.runs += 1
        self.begun.set()
        assert self.may_end.wait(WITHIN)
        return False


def fail(_: datetime) -> bool:
    raise RuntimeError("the job is broken")


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(job_loop, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(job_loop, "PATIENCE_SECONDS", 0.01)
    yield
    connection.close()


@pytest.fixture
def slow() -> Iterator[Work]:
    work = Work("slow")
    yield work
    work.may_end.set()


@pytest.fixture
def quick() -> Work:
    work = Work("quick")
    work.may_end.set()
    return work


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def declare(*jobs: Work | Job) -> None:
        declared = [each if isinstance(each, Job) else Job(each.name, each, each.interval) for each in jobs]
        monkeypatch.setattr(manifest, "_collected", Manifest(jobs=declared))

    return declare


@contextmanager
def running() -> Iterator[tuple[JobLoop, threading.Thread]]:
    loop = JobLoop()
    thread = threading.Thread(target=loop.run)
    thread.start()
    try:
        yield loop, thread
    finally:
        loop.stop()
        thread.join()


def make_due(**changes: object) -> None:
    PeriodicJob.objects.update(**{"held_until": Now()} | changes)


def is_due(name: str) -> bool:
    return PeriodicJob.objects.filter(leases.FREE, name=name).exists()


def is_released(name: str) -> bool:
    """Whether no process runs the job: until then, its end would overwrite when it is due."""
    return PeriodicJob.objects.filter(name=name, holder="").exists()


def test_job_that_hangs_or_fails_does_not_hold_up_the_others(
    slow: Work, quick: Work, declare: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    declare(slow, Job("broken", fail, HOUR), quick)

    with running():
        eventually(lambda: quick.runs == 1 and is_released("quick"), within=WITHIN, what="the end of the first run")
        PeriodicJob.objects.filter(name="quick").update(held_until=Now())
        eventually(lambda: quick.runs == 2, within=WITHIN, what="the second run")
        assert slow.begun.is_set()
        slow.may_end.set()

    assert slow.runs == 1
    assert [record.getMessage().partition("\n")[0] for record in caplog.records if record.levelname == "ERROR"] == [
        "job.failed name=broken next_run_in=1:00:00"
    ]


def test_memory_is_refreshed_while_a_job_runs(slow: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    refreshes: list[int] = []
    jobs = [Job(slow.name, slow, HOUR)]
    monkeypatch.setattr(manifest, "_collected", Manifest(jobs=jobs, refreshed=[lambda: refreshes.append(1)]))
    monkeypatch.setattr(poller, "MAX_AGE", 0.0)

    with running():
        assert slow.begun.wait(WITHIN)
        for _ in range(3):
            poller.poll(poller.PollerThread.MEMORY)
        slow.may_end.set()

    assert len(refreshes) == 3


def test_one_of_two_loops_runs_a_job(quick: Work, declare: Callable[..., None]) -> None:
    declare(quick)

    run_at_once([lambda: JobLoop()._run_due_jobs()] * 2, connected=True)

    eventually(lambda: quick.runs == 1 and not is_due("quick"), within=WITHIN, what="the run")


def test_long_job_is_not_run_by_another_process_and_keeps_its_rhythm(
    slow: Work, declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_start_thread", lambda: None)  # the test extends
    declare(slow)

    with running():
        assert slow.begun.wait(WITHIN)
        begun = PeriodicJob.objects.get()
        make_due(held_until=F("held_until") - HOUR + timedelta(seconds=1))  # its interval is nearly over
        leases.extend_kept()
        assert PeriodicJob.objects.get().held_until >= begun.held_until
        slow.may_end.set()

    assert PeriodicJob.objects.get().held_until == begun.held_until
    assert PeriodicJob.objects.get().holder == ""


def test_job_that_hangs_is_left_to_another_process_after_some_time(
    slow: Work, declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "HANGS_AFTER", timedelta(0))
    declare(slow)

    with running() as (loop, _):
        assert slow.begun.wait(WITHIN)
        make_due()
        leases.extend_kept()
        assert is_due("slow")
        run_at_once([loop._run_due_jobs])  # not by this one, whose thread hangs
        assert (slow.runs, is_due("slow")) == (1, True)
        run_at_once([lambda: JobLoop()._run_due_jobs()])
        eventually(lambda: slow.runs == 2, within=WITHIN, what="the other process")
        slow.may_end.set()


def test_job_with_work_left_runs_again_at_once(
    quick: Work, declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_loop, "POLL_SECONDS", WITHIN)
    slowly_closed = SimpleNamespace(close=lambda: (time.sleep(0.1), connection.close()))  # by the thread of a job
    monkeypatch.setattr(job_loop, "connection", slowly_closed)
    more = [True, True, False]
    declare(Job("more", lambda _: more.pop(0), HOUR))

    with running():
        eventually(lambda: not more, within=WITHIN / 2, what="the third run")


def test_stop_lets_running_jobs_end_and_starts_no_more(
    slow: Work, quick: Work, declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(slow)

    with running() as (loop, thread):
        assert slow.begun.wait(WITHIN)
        declare(slow, quick)
        loop.stop()
        slow.may_end.set()
        thread.join()
        assert not is_due("slow")

    assert quick.runs == 0


def test_stop_leaves_a_job_that_does_not_end_to_another_process(
    slow: Work, declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(job_loop, "STOP_SECONDS", 0.0)
    declare(slow)

    with running() as (loop, thread):
        assert slow.begun.wait(WITHIN)
        loop.stop()
        thread.join()
        assert is_due("slow")

    assert "job.interrupted name=slow" in caplog.messages


def test_stop_waits_for_work_in_the_background(declare: Callable[..., None]) -> None:
    begun, may_end, ends = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        ends.append(may_end.wait(WITHIN))

    def start(_: datetime) -> bool:
        poller.run_in_background("work", work)
        return False

    declare(Job("starts work", start, HOUR))
    with running() as (loop, thread):
        assert begun.wait(WITHIN)
        loop.stop()
        may_end.set()
        thread.join()
        assert ends == [True]


def test_loop_goes_on_after_an_outage_which_it_logs_once(
    quick: Work, declare: Callable[..., None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    declare(quick)
    tries: list[int] = []

    def find() -> list[Job]:
        tries.append(1)
        raise DatabaseError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(runner, "find_due_jobs", find)
        with running():
            eventually(lambda: len(tries) > 2, within=WITHIN, what="more tries")
            patch.undo()
            eventually(lambda: quick.runs == 1, within=WITHIN, what="the run")

    assert len([each for each in caplog.messages if each.startswith("jobs.not_claimed")]) == 1


@pytest.mark.parametrize("production", [False, True])
def test_only_local_mode_runs_jobs_in_a_thread(
    production: bool, settings: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(poller, "run_in_background", lambda name, _: started.append(name))
    settings.PRODUCTION = production  # type: ignore[attr-defined]

    job_loop.start_locally()

    assert started == ([] if production else ["jobs"])
