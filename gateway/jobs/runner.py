"""Run periodic jobs, each in one process at a time, and know whether the database takes writes.

The background thread of every process checks every few seconds which jobs are due. The manifests declare them. The
same thread refreshes releases and keys, so a job does a bounded amount of work and returns whether more is left.

A small write into space that SQLite already has does not show that the disk is full, so free space is checked as well.
"""

import logging
import shutil
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path

from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils import timezone

from core import logs, manifest
from core.database.deadlines import limit_waits
from core.database.watch import is_schema_missing
from core.manifest import Job
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)
POLL_SECONDS = 5.0  # seconds; one query per process
_next_poll = 0.0
INTERVAL = 5.0  # seconds
UNKNOWN_KEPT = timedelta(days=1)  # rows of jobs that no app declares
MIN_FREE_BYTES = 5_000_000
WAIT_SECONDS = 1.0  # for other writers; the next check may have more luck
_next_check = 0.0
_is_failing = False


def run_when_due() -> None:
    """Run due jobs, at most every few seconds, or immediately if work was left."""
    global _next_poll
    if time.monotonic() >= _next_poll:
        _next_poll = time.monotonic() + POLL_SECONDS
        if any(more for _, more in run_due_jobs(at=timezone.now())):
            _next_poll = 0.0


def run_due_jobs(*, at: datetime) -> list[tuple[str, bool]]:
    """Run the due jobs that no other process has claimed; return (name, whether more is left) of each."""
    jobs = manifest.get().jobs
    next_runs = dict(PeriodicJob.objects.values_list("name", "next_run"))
    new_jobs = [PeriodicJob(name=name, next_run=at) for name in (job.name for job in jobs) if name not in next_runs]
    if new_jobs:
        PeriodicJob.objects.bulk_create(new_jobs, ignore_conflicts=True)
    _delete_unknown_jobs(next_runs, {job.name for job in jobs}, at)
    due = [job for job in jobs if next_runs.get(job.name, at) <= at]
    return [(job.name, _run_job(job, at)) for job in due if _claim_job(job, at)]


def _delete_unknown_jobs(next_runs: dict[str, datetime], declared: set[str], at: datetime) -> None:
    """Delete the rows of jobs that no app declares any more, once they have not run for a day.

    During an upgrade a process of the version before still runs them, and adds their rows again.
    """
    unknown = [name for name, next_run in next_runs.items() if name not in declared and next_run < at - UNKNOWN_KEPT]
    if unknown:
        PeriodicJob.objects.filter(name__in=unknown, next_run__lt=at - UNKNOWN_KEPT).delete()


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


def takes_writes() -> bool:
    """Return whether the last write of this process's check succeeded."""
    return not _is_failing


def check_when_due() -> None:
    """Write, at most every few seconds. Logs when writes begin to fail and when they work again."""
    global _next_check, _is_failing
    if time.monotonic() < _next_check:
        return
    _next_check = time.monotonic() + INTERVAL
    if _get_free_bytes() < MIN_FREE_BYTES:
        _report_failure(f"less than {MIN_FREE_BYTES // 1_000_000} MB of disk space left")
        return
    try:
        with limit_waits(time.monotonic() + WAIT_SECONDS), transaction.atomic():
            PeriodicJob.objects.update(next_run=F("next_run"))  # any few rows would do; their values stay
    except DatabaseError as error:
        if "locked" not in str(error) and not is_schema_missing(error):
            _report_failure(str(error).strip().partition("\n")[0])
    else:
        if _is_failing:
            log.info("database.writable")
        _is_failing = False


def _get_free_bytes() -> int:
    """Return the free disk space for a SQLite file, or a large number for other databases."""
    if connection.vendor != "sqlite":
        return sys.maxsize
    return shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free


def _report_failure(reason: str) -> None:
    global _is_failing
    if not _is_failing:
        log.error("database.not_writable reason=%r", reason)
    _is_failing = True
