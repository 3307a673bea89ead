"""Whether the database takes writes. It does not while its disk is full, or while it is a standby; reads go on.

A small write into space that SQLite has already does not show that the disk is full, so its free space counts, too.
"""

import logging
import shutil
import sys
import time
from pathlib import Path

from django.db import DatabaseError, connection, transaction
from django.db.models import F

from core.database.deadlines import limit_waits
from core.database.watch import is_schema_missing
from gateway.models import PeriodicJob

log = logging.getLogger(__name__)

INTERVAL = 5.0  # seconds
MIN_FREE_BYTES = 5_000_000
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
    """Return the free disk space beside a SQLite file, or a large number for other databases."""
    if connection.vendor != "sqlite":
        return sys.maxsize
    return shutil.disk_usage(Path(connection.settings_dict["NAME"]).parent).free


def _report_failure(reason: str) -> None:
    global _is_failing
    if not _is_failing:
        log.error("database.not_writable reason=%r", reason)
    _is_failing = True
