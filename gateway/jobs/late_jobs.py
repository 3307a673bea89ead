"""Notice that periodic jobs are late: nobody runs them, or one of them hangs.

No job can say so, because it would not run either. So each process that answers calls looks, and says it in the log, in
the metrics, in /readyz and in the console.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.core import checks
from django.db import DatabaseError
from django.db.models.functions import Now

from core import manifest, metrics
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)
LATE_AFTER = timedelta(minutes=2)  # a start of all processes, or a job that makes others wait, takes less
INTERVAL = 15.0  # seconds between two looks; one query
HINT = "Run one or more processes of manage.py run_jobs --forever."
LOCAL_HINT = "The log says why; restarting the gateway runs it again."
_begun_at = time.monotonic()  # when this process was started
_next_check = 0.0
_latest: "LateJob | None" = None


class LateJob(NamedTuple):
    """A job that has been due for some time."""

    name: str
    by: timedelta

    def __str__(self) -> str:
        return f"The job {self.name} should have run {int(self.by.total_seconds() // 60)} minutes ago"


def find_late_jobs() -> list[LateJob]:
    """Return the jobs that are late by more than two minutes, the latest first. Takes one query.

    A job without a row has never run: then it is late as long as this process exists.
    """
    age = timedelta(seconds=time.monotonic() - _begun_at)
    rows = PeriodicJob.objects.annotate(now=Now()).values_list("name", "held_until", "now")
    delays = {name: now - due_at for name, due_at, now in rows}
    late = [LateJob(job.name, delays.get(job.name, age)) for job in manifest.get().jobs]
    return sorted((each for each in late if each.by > LATE_AFTER), key=lambda each: each.by, reverse=True)


def check_when_due() -> None:
    """Look every 15 seconds whether jobs are late. Logs when that begins and when it ends."""
    global _next_check, _latest
    if time.monotonic() < _next_check:
        return
    _next_check = time.monotonic() + INTERVAL
    late = find_late_jobs()
    if late and _latest is None:
        log.error("jobs.late jobs=%d latest=%s late_seconds=%d", len(late), late[0].name, late[0].by.total_seconds())
    if not late and _latest is not None:
        log.info("jobs.in_time")
    _latest = late[0] if late else None
    metrics.JOBS_LATE.set(_latest.by.total_seconds() if _latest else 0)


def explain_delay() -> str:
    """Return in a sentence whether jobs were late when this process last looked; empty if not."""
    return f"{_latest}. {get_hint()}" if _latest else ""


def get_hint() -> str:
    """Return what to do if jobs are late."""
    return HINT if settings.PRODUCTION else LOCAL_HINT


def check_deployment(*, databases: Sequence[str] | None, **_: Any) -> list[checks.CheckMessage]:
    """Warn if nobody runs the jobs: manage.py check --deploy --database default."""
    if not databases:
        return []
    try:
        late, has_rows = find_late_jobs(), PeriodicJob.objects.exists()
    except DatabaseError:
        return []  # not migrated yet
    if has_rows and not late:
        return []
    what = f"{late[0]}." if late else "No process has run a periodic job."
    return [checks.Warning(what, hint=HINT, id="gateway.W001")]
