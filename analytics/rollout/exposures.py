"""Record which subjects were exposed to a cohort, and which subjects were seen, in the background.

A call neither waits for its exposure to be written nor fails if that fails. Rows are kept forever, so one API key adds
a limited number an hour. Further ones wait until their subjects are seen again. Flags are still evaluated.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta
from operator import itemgetter

from analytics.rollout.evaluation import EvaluationContext, EvaluationDetails
from analytics.rollout.models import Assignment, Subject
from core.background.write_behind import RecentKeys, WriteBehindBuffer

log = logging.getLogger(__name__)
MAX_QUEUED = 50_000
MAX_AN_HOUR = 20_000  # that one source adds in each process: a first hour of five new users a second
_Key = tuple[str, ...]  # flag, subject, variant, cohort
_Exposure = tuple[_Key, datetime]
_recent_keys: RecentKeys[_Key] = RecentKeys()
RECORD_INTERVAL = timedelta(hours=1)
RECENT_PERIOD = timedelta(days=7)
MAX_SUBJECTS = 20_000  # subjects in the preview of a change; 20,000 take about a second
_FIELDS = ("client", "environment", "context", "project", "model", "traits")
_Sighting = tuple[EvaluationContext, datetime]
_recent_subjects: RecentKeys[str] = RecentKeys(again_after=RECORD_INTERVAL)


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

_buffer: WriteBehindBuffer[_Exposure] = WriteBehindBuffer(
    "exposures", _write_exposures, capacity=MAX_QUEUED, retries=True
)


def is_due(subject: str, at: datetime) -> bool:
    """Return whether a subject should be queued: it is known, and was not queued in the last hour."""
    return bool(subject) and _recent_subjects.is_due(subject, at)


def record_context(context: EvaluationContext, at: datetime) -> None:
    """Queue a subject, to be written within 100 ms, at most once an hour. Does not block."""
    if context.subject and _recent_subjects.add_if_due(context.subject, at):
        _subject_buffer.put((context, at))


def flush_subjects() -> None:
    """Write this process's queued subjects in one statement, if there are any."""
    _subject_buffer.flush()


def clear_subjects() -> None:
    """Clear the memory of this process, for tests."""
    _subject_buffer.discard()
    _recent_subjects.clear()


def list_recent(at: datetime) -> list[EvaluationContext]:
    """Return the subjects seen in the last seven days, latest first, at most 20,000."""
    rows = Subject.objects.filter(seen_at__gte=at - RECENT_PERIOD).values("subject", *_FIELDS)
    return [EvaluationContext(**row) for row in rows[:MAX_SUBJECTS]]


def find_context(subject: str) -> EvaluationContext | None:
    """Return a subject's context as last seen, or None."""
    row = Subject.objects.filter(subject=subject).values("subject", *_FIELDS).first()
    return EvaluationContext(**row) if row else None


def _write_subjects(sightings: list[_Sighting]) -> None:
    """Write sightings in the order of their subjects, so that two processes do not deadlock."""
    latest = {context.subject: (context, at) for context, at in sightings}  # a statement may update a row only once
    rows = [
        Subject(
            subject=subject,
            seen_at=at.replace(minute=0, second=0, microsecond=0),
            **{name: getattr(context, name) for name in _FIELDS if name != "traits"},
            traits=dict(context.traits),
        )
        for subject, (context, at) in sorted(latest.items(), key=itemgetter(0))
    ]
    Subject.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["subject"], update_fields=[*_FIELDS, "seen_at"]
    )


_subject_buffer: WriteBehindBuffer[_Sighting] = WriteBehindBuffer(
    "subjects", _write_subjects, capacity=MAX_QUEUED, retries=True
)
