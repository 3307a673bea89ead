"""Periodic jobs: each runs in one process at a time, whichever claims it first.

The follower thread of every process looks every few seconds which jobs of `settings.GATEWAY_JOBS` are due. A job does
a bounded piece of work, since releases and keys are followed by the same thread, and says whether more is left.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from core import faults
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)

LOOK_EVERY = 5.0  # seconds; one query a process

Job = Callable[[datetime], bool]  # takes the time; returns whether more work is left, and the job due at once again

_next_look = 0.0


def follow() -> None:
    """Run what is due, at most every few seconds, or at once again where work was left."""
    global _next_look
    if time.monotonic() >= _next_look:
        _next_look = time.monotonic() + LOOK_EVERY
        if any(more for _, more in run_due(at=timezone.now())):
            _next_look = 0.0


def run_due(*, at: datetime) -> list[tuple[str, bool]]:
    """Run the jobs that are due and that no other process claims; return (name, whether more is left) of each."""
    next_runs = dict(PeriodicJob.objects.values_list("name", "next_run"))
    missing = [PeriodicJob(name=name, next_run=at) for name in settings.GATEWAY_JOBS if name not in next_runs]
    if missing:
        PeriodicJob.objects.bulk_create(missing, ignore_conflicts=True)
    due = [name for name in settings.GATEWAY_JOBS if next_runs.get(name, at) <= at]
    return [(name, _run(name, at)) for name in due if _claim(name, at)]


def _claim(name: str, at: datetime) -> bool:
    """Move the job's time on; of several processes that try, one changes the row."""
    moved = PeriodicJob.objects.filter(name=name, next_run__lte=at).update(next_run=at + settings.GATEWAY_JOBS[name])
    return moved == 1


def _run(name: str, at: datetime) -> bool:
    """Run a claimed job. One that fails is logged and comes again at its next time."""
    job: Job = import_string(name)
    try:
        more = job(at)
    except Exception as error:
        log.error("the job %s failed and runs again in %s\n%s", name, settings.GATEWAY_JOBS[name], faults.told(error))
        return False
    if more:
        PeriodicJob.objects.filter(name=name).update(next_run=at)
    return more
