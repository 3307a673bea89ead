"""Periodic jobs. Each runs in one process at a time: the first that claims it.

The background thread of every process checks every few seconds which jobs of `settings.GATEWAY_JOBS` are due. The same
thread refreshes releases and keys, so a job does a bounded amount of work and returns whether more is left.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from core import safe_traceback
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)

POLL_SECONDS = 5.0  # seconds; one query per process

Job = Callable[[datetime], bool]  # takes the time; returns whether more work is left, so that it runs again at once

_next_poll = 0.0


def follow() -> None:
    """Run due jobs, at most every few seconds, or at once if work was left."""
    global _next_poll
    if time.monotonic() >= _next_poll:
        _next_poll = time.monotonic() + POLL_SECONDS
        if any(more for _, more in run_due_jobs(at=timezone.now())):
            _next_poll = 0.0


def run_due_jobs(*, at: datetime) -> list[tuple[str, bool]]:
    """Run the due jobs that no other process has claimed; return (name, whether more is left) of each."""
    next_runs = dict(PeriodicJob.objects.values_list("name", "next_run"))
    new_jobs = [PeriodicJob(name=name, next_run=at) for name in settings.GATEWAY_JOBS if name not in next_runs]
    if new_jobs:
        PeriodicJob.objects.bulk_create(new_jobs, ignore_conflicts=True)
    due = [name for name in settings.GATEWAY_JOBS if next_runs.get(name, at) <= at]
    return [(name, _run_job(name, at)) for name in due if _claim_job(name, at)]


def _claim_job(name: str, at: datetime) -> bool:
    """Move the job's next run forward. If several processes try, only one changes the row."""
    updated_rows = PeriodicJob.objects.filter(name=name, next_run__lte=at).update(
        next_run=at + settings.GATEWAY_JOBS[name]
    )
    return updated_rows == 1


def _run_job(name: str, at: datetime) -> bool:
    """Run a claimed job. A failure is logged, and the job runs again at its next time."""
    job: Job = import_string(name)
    try:
        more = job(at)
    except Exception as error:
        log.error(
            "job.failed name=%s next_run_in=%s\n%s", name, settings.GATEWAY_JOBS[name], safe_traceback.format(error)
        )
        return False
    if more:
        PeriodicJob.objects.filter(name=name).update(next_run=at)
    return more
