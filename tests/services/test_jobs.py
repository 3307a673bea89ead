"""Periodic jobs in processes of their own: which process runs them, and what happens when one dies or stops."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import TimeoutExpired

import pytest
from django.conf import settings
from django.db.models.functions import Now

from core.background import leases
from gateway.models import PeriodicJob
from registry.models import Switch
from tests.support.rows.copy_rows import AT
from tests.support.servers.environment import build_environment
from tests.support.servers.probe import QUICK_JOB, SLOW_JOB
from tests.support.servers.probe_app import JOBS_FOLDER
from tests.support.servers.processes import STARTS_WITHIN, Process, Server, eventually, kill_process
from tests.support.servers.stores import Store

pytestmark = [pytest.mark.both_databases, pytest.mark.server]

PRODUCTION = {"GATEWAY_ENV": "production", "ALLOWED_HOSTS": "127.0.0.1", "SECURE_SSL_REDIRECT": "false"}
RUNS_WITHIN = 60.0  # seconds; a process looks every five
ENDS_WITHIN = 2.0  # seconds that a process with nothing to wait for needs to end


@pytest.fixture
def run_jobs(store: Store, folder: Path, tmp_path: Path) -> Iterator[Callable[[], Process]]:
    """Start a process that runs jobs in production, those of the probe as well. All are stopped."""
    environment = build_environment(store, tmp_path, **PRODUCTION, **{JOBS_FOLDER: str(folder)})
    with ExitStack() as stack:

        def start() -> Process:
            command = [sys.executable, "manage.py", "run_jobs", "--forever"]
            process = Process(command, environment=environment, folder=settings.BASE_DIR)
            stack.enter_context(process.stopped_afterwards())
            eventually(lambda: "Running periodic jobs." in process.output, within=STARTS_WITHIN, what="the start")
            return process

        yield start


def list_processes(folder: Path) -> set[int]:
    """Return the ids of the processes that have run the job of a folder since it was last emptied."""
    return {int(path.name) for path in folder.iterdir() if path.name.isdecimal()}


def wait_for_next_run() -> None:
    """Wait until the quick job has run once more."""
    before = PeriodicJob.objects.get(name=QUICK_JOB).held_until

    def has_run() -> bool:
        return PeriodicJob.objects.get(name=QUICK_JOB).held_until > before

    eventually(has_run, within=RUNS_WITHIN, what="the next run")


@pytest.mark.thorough("sqlite")
def test_jobs_run_in_their_processes_and_survive_the_death_of_one(
    serve: Callable[..., Server], run_jobs: Callable[[], Process], folder: Path
) -> None:
    server = serve(**PRODUCTION, **{JOBS_FOLDER: str(folder)})
    jobs = {process.inner.pid: process for process in (run_jobs(), run_jobs())}

    # One process has the slow job, and meanwhile other jobs run.
    slow = eventually(lambda: list_processes(folder / SLOW_JOB), within=RUNS_WITHIN, what="the slow job")
    for _ in range(2):
        wait_for_next_run()
    assert len(list_processes(folder / SLOW_JOB)) == 1

    # It dies. When the job is due again, the other process runs it.
    dead = slow.pop()
    kill_process(dead)
    PeriodicJob.objects.filter(name=SLOW_JOB).update(held_until=Now())
    [left] = jobs.keys() - {dead}
    eventually(lambda: left in list_processes(folder / SLOW_JOB), within=RUNS_WITHIN, what="the takeover")

    # SIGTERM waits for its end, and the job is not due.
    jobs[left].inner.send_signal(signal.SIGTERM)
    with pytest.raises(TimeoutExpired):
        jobs[left].inner.wait(ENDS_WITHIN)
    (folder / SLOW_JOB / "go").touch()
    assert jobs[left].wait() == 0, jobs[left].output
    assert (folder / SLOW_JOB / "ended").exists()
    assert not PeriodicJob.objects.filter(leases.FREE, name=SLOW_JOB).exists()

    # Now nobody runs jobs: not the server, which answers calls.
    with server.client() as http:
        assert http.get("/readyz").status_code == 200
    assert list_processes(folder / QUICK_JOB) <= jobs.keys()
    assert list_processes(folder / SLOW_JOB) == jobs.keys()


def test_switch_holds_while_a_job_hangs_in_a_local_server(serve: Callable[..., Server], folder: Path) -> None:
    server = serve(**{JOBS_FOLDER: str(folder)})
    eventually(lambda: list_processes(folder / SLOW_JOB), within=RUNS_WITHIN, what="the slow job")

    Switch.objects.create(
        kind="op", name="probe.process", is_off=True, reason="Broken", changed_by="ana", changed_at=AT
    )

    def is_off() -> bool:
        answers = [server.exec("probe.process") for _ in range(10)]  # over new connections, to any worker
        return all(answer.status_code == 403 for answer in answers)

    eventually(is_off, within=RUNS_WITHIN, what="the switch")
    assert not (folder / SLOW_JOB / "go").exists()
    (folder / SLOW_JOB / "go").touch()
