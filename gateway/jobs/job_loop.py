"""Run periodic jobs until told to stop: in a process of its own in production, in a thread in local mode.

Jobs run one after another, because most of them write to the same database. One that takes long does not hold up the
others: it goes on in its thread, and the loop goes on with the next.
"""

import logging
import threading
import time

from django.conf import settings
from django.db import close_old_connections, connection
from django.utils import timezone

from core import logs
from core.background import poller
from core.database import watch
from core.manifest import Job
from gateway.jobs import runner
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)
POLL_SECONDS = 5.0  # between two looks at what is due; one query
PATIENCE_SECONDS = 2.0  # that the loop waits for a job before it goes on with the next
STOP_SECONDS = 25.0  # that running jobs have to end


class JobLoop:
    """Runs due jobs in threads, each with its own connection. One object may run once."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._running: dict[str, _JobThread] = {}  # by name of the job
        self._is_failing = False

    def run(self) -> None:
        """Run jobs until `stop` is called. Then wait for those that run, for 25 s at most.

        Jobs that run longer are left to another process, which can claim them at once.
        """
        try:
            self._run_until_stopped()
            self._end_running_jobs(until=time.monotonic() + STOP_SECONDS)
        finally:
            connection.close()

    def stop(self) -> None:
        """Start no more jobs, and make `run` return. Not for signal handlers: an event has a lock."""
        self._stop.set()
        self._wake.set()

    def _run_until_stopped(self) -> None:
        while True:
            self._wake.clear()
            if self._stop.is_set():  # after the line above, which may forget that `stop` has just woken this thread
                break
            self._run_due_jobs()
            self._wake.wait(POLL_SECONDS)

    def _end_running_jobs(self, until: float) -> None:
        """Wait for running jobs and their work in the background. Hand over the jobs that do not end by then."""
        for thread in list(self._running.values()):
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                log.warning("job.interrupted name=%s", thread.job.name)
                runner.hand_over(thread.row)
        poller.join_background_threads(until=until)

    def _run_due_jobs(self) -> None:
        """Claim and run what is due. A failure is logged when it begins: the database may be away."""
        if not watch.is_answering():
            return
        try:
            for job in runner.find_due_jobs():
                self._running = {name: thread for name, thread in self._running.items() if not thread.has_ended}
                if self._stop.is_set():
                    return
                if job.name not in self._running and (row := runner.claim_job(job)) is not None:
                    self._start_job(job, row)
            self._is_failing = False
        except Exception as error:  # any error: the next look tries again
            if not self._is_failing:
                log.warning("jobs.not_claimed retry_seconds=%s\n%s", POLL_SECONDS, logs.format_safely(error))
            self._is_failing = True
        finally:
            close_old_connections()

    def _start_job(self, job: Job, row: PeriodicJob) -> None:
        close_old_connections()  # the job has its own
        thread = self._running[job.name] = _JobThread(job, row, self._wake)
        thread.start()
        thread.join(PATIENCE_SECONDS)


class _JobThread(threading.Thread):
    """Runs a claimed job once, and wakes the loop if work is left."""

    def __init__(self, job: Job, row: PeriodicJob, wake: threading.Event) -> None:
        super().__init__(name=f"job {job.name}", daemon=True)
        self.job, self.row, self._wake = job, row, wake
        self.has_ended = False

    def run(self) -> None:
        more = False
        try:
            more = runner.run_job(self.job, self.row, timezone.now())
        finally:
            connection.close()
            self.has_ended = True  # said before the thread is over: the loop that it wakes runs the job again
            if more:
                self._wake.set()


def start_locally() -> None:
    """Run jobs in a thread of this process, in local mode. In production `manage.py run_jobs --forever` runs them."""
    if not settings.PRODUCTION:
        poller.run_in_background("jobs", JobLoop().run)
