"""Periodic jobs. Each runs in one process at a time: the first that claims it.

The background thread of every process checks every few seconds which jobs are due. `config/wiring.py` lists them. The
same thread refreshes releases and keys, so a job does a bounded amount of work and returns whether more is left.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils import timezone

from core import logs
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0  # seconds; one query per process

JobFunction = Callable[[datetime], bool]  # takes the time; returns whether more work is left, so that it runs again


@dataclass(frozen=True, slots=True)
class Job:
    """A function and how often it runs."""

    function: JobFunction
    interval: timedelta

    @property
    def name(self) -> str:
        """The function's dotted path, which identifies the job's row."""
        return f"{self.function.__module__}.{self.function.__qualname__}"


_jobs: tuple[Job, ...] = ()
_next_poll = 0.0


def set_jobs(jobs: Sequence[Job]) -> None:
    """Set the jobs that run periodically."""
    global _jobs
    _jobs = tuple(jobs)


def run_when_due() -> None:
    """Run due jobs, at most every few seconds, or at once if work was left."""
    global _next_poll
    if time.monotonic() >= _next_poll:
        _next_poll = time.monotonic() + POLL_SECONDS
        if any(more for _, more in run_due_jobs(at=timezone.now())):
            _next_poll = 0.0


def run_due_jobs(*, at: datetime) -> list[tuple[str, bool]]:
    """Run the due jobs that no other process has claimed; return (name, whether more is left) of each."""
    next_runs = dict(PeriodicJob.objects.values_list("name", "next_run"))
    new_jobs = [PeriodicJob(name=name, next_run=at) for name in (job.name for job in _jobs) if name not in next_runs]
    if new_jobs:
        PeriodicJob.objects.bulk_create(new_jobs, ignore_conflicts=True)
    due = [job for job in _jobs if next_runs.get(job.name, at) <= at]
    return [(job.name, _run_job(job, at)) for job in due if _claim_job(job, at)]


def _claim_job(job: Job, at: datetime) -> bool:
    """Move the job's next run forward. If several processes try, only one changes the row."""
    updated_rows = PeriodicJob.objects.filter(name=job.name, next_run__lte=at).update(next_run=at + job.interval)
    return updated_rows == 1


def _run_job(job: Job, at: datetime) -> bool:
    """Run a claimed job. A failure is logged, and the job runs again at its next time."""
    try:
        more = job.function(at)
    except Exception as error:
        log.error("job.failed name=%s next_run_in=%s\n%s", job.name, job.interval, logs.format_safely(error))
        return False
    if more:
        PeriodicJob.objects.filter(name=job.name).update(next_run=at)
    return more
