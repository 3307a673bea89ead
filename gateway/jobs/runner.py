"""Run periodic jobs, each in one process at a time, and know whether the database takes writes.

The manifests declare the jobs, and the database says which are due. A job is leased for its interval, and for longer
while it runs (core/background/leases.py). It does a bounded amount of work and returns whether more is left.

A small write into space that SQLite already has does not show that the disk is full, so free space is checked as well.
"""

import logging
import shutil
import sys
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from core import logs, manifest
from core.background import leases
from core.database.deadlines import limit_waits
from core.database.watch import is_schema_missing
from core.manifest import Job
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)
HANGS_AFTER = timedelta(minutes=15)  # a job that runs for longer; another process may then run it
INTERVAL = 5.0  # seconds
UNKNOWN_KEPT = timedelta(days=1)  # rows of jobs that no app declares, after their last run
MIN_FREE_BYTES = 5_000_000
WAIT_SECONDS = 1.0  # for other writers; the next check may have more luck
_next_check = 0.0
_is_failing = False


def run_due_jobs(*, at: datetime) -> list[tuple[str, bool]]:
    """Run the due jobs that no other process has claimed; return (name, whether more is left) of each.

    `at` is for the jobs.
    """
    return [(job.name, run_job(job, row, at)) for job in find_due_jobs() if (row := claim_job(job))]


def find_due_jobs() -> list[Job]:
    """Return the jobs that are due by the clock of the database. Takes one query if every job has its row."""
    jobs = manifest.get().jobs
    is_unused = Q(held_until__lt=Now() - UNKNOWN_KEPT)
    rows = PeriodicJob.objects.annotate(is_due=leases.FREE, is_unused=is_unused)
    states = {name: state for name, *state in rows.values_list("name", "is_due", "is_unused")}
    names = {job.name for job in jobs}
    if new_names := names - states.keys():
        PeriodicJob.objects.bulk_create(
            (PeriodicJob(name=name, held_until=Now()) for name in new_names), ignore_conflicts=True
        )
    # During an upgrade a process of the version before still runs jobs that no app declares, and adds their rows again.
    if unknown := [name for name, (_, is_old) in states.items() if is_old and name not in names]:
        PeriodicJob.objects.filter(is_unused, name__in=unknown).delete()
    return [job for job in jobs if job.name in new_names or states[job.name][0]]


def claim_job(job: Job) -> PeriodicJob | None:
    """Lease a job until its next run. Return None if another process has it."""
    return leases.claim(PeriodicJob.objects.filter(name=job.name), job.interval)


def run_job(job: Job, row: PeriodicJob, at: datetime) -> bool:
    """Run a claimed job, and return whether more is left: then it is due now.

    A failure is logged, and the job runs again at its next time.
    """
    more = False
    with suppress(leases.LeaseLost):  # it hung, and another process runs it
        with leases.keep(row, job.interval, at_most=HANGS_AFTER):
            try:
                more = job.function(at)
            except Exception as error:
                log.error("job.failed name=%s next_run_in=%s\n%s", job.name, job.interval, logs.format_safely(error))
        leases.release(row, held_until=Now() if more else row.held_until)
    return more


def hand_over(row: PeriodicJob) -> None:
    """Make a job due that this process has begun and will not end."""
    with suppress(leases.LeaseLost, DatabaseError, InterfaceError):
        leases.release(row, held_until=Now())


def takes_writes() -> bool:
    """Return whether the last write of this process's check succeeded."""
    return not _is_failing


def check_when_due() -> None:
    """Test with a write whether the database accepts writes, at most every few seconds.

    Logs when writes begin to fail and when they work again.
    """
    global _next_check, _is_failing
    if time.monotonic() < _next_check:
        return
    _next_check = time.monotonic() + INTERVAL
    if _get_free_bytes() < MIN_FREE_BYTES:
        _report_failure(f"less than {MIN_FREE_BYTES // 1_000_000} MB of disk space left")
        return
    try:
        with limit_waits(time.monotonic() + WAIT_SECONDS), transaction.atomic():
            # Any row would do, and its value stays. That of the job that is due last is not claimed at the same time.
            last = PeriodicJob.objects.order_by(F("held_until").desc(nulls_last=True)).values("pk")[:1]
            PeriodicJob.objects.filter(pk__in=last).update(held_until=F("held_until"))
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
