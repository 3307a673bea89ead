"""Exposures: which subjects got which variants. Written in the background, once for each subject, variant and cohort.

A call neither waits for its exposure to be written nor fails if that fails.
"""

from collections.abc import Iterable
from datetime import datetime

from analytics.rollout.evaluation import EvaluationDetails
from analytics.rollout.models import Assignment
from core.write_behind import WriteBehindBuffer

_Key = tuple[str, ...]  # flag, subject, variant, cohort


def record_exposures(outcomes: Iterable[EvaluationDetails], *, subject: str, at: datetime) -> None:
    """Queue a subject's new exposures, to be written within half a second. Ignores anonymous subjects."""
    for each in outcomes if subject else ():
        _buffer.put((str(each.flag), subject, each.variant, each.cohort), at, at)


def flush() -> None:
    """Write this process's queued exposures in one statement, if there are any."""
    _buffer.flush()


def clear() -> None:
    """Clear the memory of this process, for tests."""
    _buffer.clear()


def _write_exposures(first_exposures: dict[_Key, datetime]) -> None:
    rows = [
        Assignment(flag=flag, subject=subject, variant=variant, cohort=cohort, time=at)
        for (flag, subject, variant, cohort), at in first_exposures.items()
    ]
    Assignment.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)


_buffer: WriteBehindBuffer[_Key, datetime] = WriteBehindBuffer(_write_exposures)
