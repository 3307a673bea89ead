"""Exposures: which subjects got which variants. Written in the background, once for each subject, variant and cohort.

A call neither waits for its exposure to be written nor fails if that fails. Rows are kept forever, so one API key adds
a limited number an hour: more wait until their subjects are seen again, and flags are evaluated all the same.
"""

import logging
from collections.abc import Iterable
from datetime import datetime

from analytics.rollout.evaluation import EvaluationDetails
from analytics.rollout.models import Assignment
from core.background.write_behind import RecentKeys, WriteBehindBuffer

log = logging.getLogger(__name__)

MAX_QUEUED = 50_000
MAX_AN_HOUR = 20_000  # that one source adds in each process: a first hour of five new users a second

_Key = tuple[str, ...]  # flag, subject, variant, cohort
_Exposure = tuple[_Key, datetime]


class _HourlyQuota:
    """Counts the exposures that each source added in the current hour."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[datetime, int]] = {}  # by source: its hour, and how many

    def take(self, source: str, at: datetime) -> bool:
        """Count one more, and return whether it is within the quota. Logs the first one that is not."""
        this_hour = at.replace(minute=0, second=0, microsecond=0)
        hour, count = self._counts.get(source, (this_hour, 0))
        count = count if hour == this_hour else 0
        if count == MAX_AN_HOUR:
            log.warning("exposures.quota_reached key=%s an_hour=%d", source, MAX_AN_HOUR)
        self._counts[source] = this_hour, count + 1
        return count < MAX_AN_HOUR

    def clear(self) -> None:
        """Forget what was counted."""
        self._counts.clear()


def record_exposures(outcomes: Iterable[EvaluationDetails], *, subject: str, source: str, at: datetime) -> None:
    """Queue a subject's new exposures, to be written within 100 ms. Ignores anonymous subjects.

    `source` is the prefix of the API key that named the subject, whose quota they count against.
    """
    for each in outcomes if subject else ():
        key = (str(each.flag), subject, each.variant, each.cohort)
        if _recent_keys.is_due(key, at) and _quota.take(source, at) and _recent_keys.add_if_due(key, at):
            _buffer.put((key, at))


def flush() -> None:
    """Write this process's queued exposures in one statement, if there are any."""
    _buffer.flush()


def clear() -> None:
    """Clear the memory of this process, for tests."""
    _buffer.discard()
    _recent_keys.clear()
    _quota.clear()


def _write_exposures(exposures: list[_Exposure]) -> None:
    rows = [
        Assignment(flag=flag, subject=subject, variant=variant, cohort=cohort, time=at)
        for (flag, subject, variant, cohort), at in sorted(exposures)  # all processes lock rows in the same order
    ]
    Assignment.objects.bulk_create(rows, ignore_conflicts=True)


_quota = _HourlyQuota()
_recent_keys: RecentKeys[_Key] = RecentKeys()
_buffer: WriteBehindBuffer[_Exposure] = WriteBehindBuffer(
    "exposures", _write_exposures, capacity=MAX_QUEUED, retries=True
)
