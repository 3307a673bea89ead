"""Exposures: which subjects got which variants. Written in the background, once for each subject, variant and cohort.

A call neither waits for its exposure to be written nor fails if that fails.
"""

from collections.abc import Iterable
from datetime import datetime

from analytics.rollout.evaluation import EvaluationDetails
from analytics.rollout.models import Assignment
from core.write_behind import RecentKeys, WriteBehindBuffer

MAX_QUEUED = 50_000

_Key = tuple[str, ...]  # flag, subject, variant, cohort
_Exposure = tuple[_Key, datetime]


def record_exposures(outcomes: Iterable[EvaluationDetails], *, subject: str, at: datetime) -> None:
    """Queue a subject's new exposures, to be written within 100 ms. Ignores anonymous subjects."""
    for each in outcomes if subject else ():
        key = (str(each.flag), subject, each.variant, each.cohort)
        if _recent_keys.add_if_due(key, at):
            _buffer.put((key, at))


def flush() -> None:
    """Write this process's queued exposures in one statement, if there are any."""
    _buffer.flush()


def clear() -> None:
    """Clear the memory of this process, for tests."""
    _buffer.discard()
    _recent_keys.clear()


def _write_exposures(exposures: list[_Exposure]) -> None:
    rows = [
        Assignment(flag=flag, subject=subject, variant=variant, cohort=cohort, time=at)
        for (flag, subject, variant, cohort), at in sorted(exposures)  # all processes lock rows in the same order
    ]
    Assignment.objects.bulk_create(rows, ignore_conflicts=True)


_recent_keys: RecentKeys[_Key] = RecentKeys()
_buffer: WriteBehindBuffer[_Exposure] = WriteBehindBuffer(
    "exposures", _write_exposures, capacity=MAX_QUEUED, retries=True
)
