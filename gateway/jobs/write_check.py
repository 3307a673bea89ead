"""Whether the database takes writes. It does not while its disk is full, or while it is a standby; reads go on."""

import logging
import time

from django.db import DatabaseError, transaction
from django.db.models import F

from core.database_errors import is_schema_missing
from core.wait_limit import limit_waits
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)

INTERVAL = 5.0  # seconds
WAIT_SECONDS = 1.0  # for other writers; the next check may have more luck

_next_check = 0.0
_is_failing = False


def takes_writes() -> bool:
    """Return whether the last write of this process's check succeeded."""
    return not _is_failing


def check_when_due() -> None:
    """Write, at most every few seconds. The log tells when writes begin to fail and when they work again."""
    global _next_check, _is_failing
    if time.monotonic() < _next_check:
        return
    _next_check = time.monotonic() + INTERVAL
    try:
        with limit_waits(time.monotonic() + WAIT_SECONDS), transaction.atomic():
            PeriodicJob.objects.update(next_run=F("next_run"))  # any few rows would do; their values stay
    except DatabaseError as error:
        if "locked" not in str(error) and not is_schema_missing(error):
            _report_failure(error)
    else:
        if _is_failing:
            log.info("database.writable")
        _is_failing = False


def _report_failure(error: DatabaseError) -> None:
    global _is_failing
    if not _is_failing:
        log.error("database.not_writable reason=%r", str(error).strip().partition("\n")[0])
    _is_failing = True
