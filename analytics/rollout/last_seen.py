"""Subjects as last seen in flag evaluations, written in the background, at most once an hour each."""

from datetime import datetime, timedelta
from operator import itemgetter

from analytics.rollout.evaluation_context import EvaluationContext
from analytics.rollout.models import Subject
from core.background.write_behind import RecentKeys, WriteBehindBuffer

RECORD_INTERVAL = timedelta(hours=1)
RECENT_PERIOD = timedelta(days=7)
MAX_SUBJECTS = 20_000  # subjects in the preview of a change; 20,000 take about a second

MAX_QUEUED = 50_000

_FIELDS = ("client", "environment", "context", "project", "model", "traits")

_Sighting = tuple[EvaluationContext, datetime]


def is_due(subject: str, at: datetime) -> bool:
    """Return whether a subject should be queued: it is known, and was not queued in the last hour."""
    return bool(subject) and _recent_subjects.is_due(subject, at)


def record_context(context: EvaluationContext, at: datetime) -> None:
    """Queue a subject, to be written within 100 ms, at most once an hour. Does not block."""
    if context.subject and _recent_subjects.add_if_due(context.subject, at):
        _buffer.put((context, at))


def flush() -> None:
    """Write this process's queued subjects in one statement, if there are any."""
    _buffer.flush()


def clear() -> None:
    """Clear the memory of this process, for tests."""
    _buffer.discard()
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


_recent_subjects: RecentKeys[str] = RecentKeys(again_after=RECORD_INTERVAL)
_buffer: WriteBehindBuffer[_Sighting] = WriteBehindBuffer(
    "subjects", _write_subjects, capacity=MAX_QUEUED, retries=True
)
