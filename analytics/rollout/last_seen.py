"""Subjects as last seen in flag evaluations, written in the background, at most once an hour each."""

from datetime import datetime, timedelta

from analytics.rollout.evaluation_context import EvaluationContext
from analytics.rollout.models import Subject
from core.write_behind import WriteBehindBuffer

RECORD_INTERVAL = timedelta(hours=1)
RECENT_PERIOD = timedelta(days=7)
MAX_SUBJECTS = 20_000  # subjects in the preview of a change; 20,000 take about a second

_FIELDS = ("client", "environment", "context", "project", "model", "traits")

_Sighting = tuple[EvaluationContext, datetime]


def is_due(subject: str, at: datetime) -> bool:
    """Return whether a subject should be queued: it is known, and was not queued in the last hour."""
    return bool(subject) and _buffer.is_due(subject, at)


def record_context(context: EvaluationContext, at: datetime) -> None:
    """Queue a subject, to be written within half a second, at most once an hour. Does not block."""
    if context.subject:
        _buffer.put(context.subject, (context, at), at)


def flush() -> None:
    """Write this process's queued subjects in one statement, if there are any."""
    _buffer.flush()


def clear() -> None:
    """Clear the memory of this process, for tests."""
    _buffer.clear()


def list_recent(at: datetime) -> list[EvaluationContext]:
    """Return the subjects seen in the last seven days, latest first, at most 20,000."""
    rows = Subject.objects.filter(seen_at__gte=at - RECENT_PERIOD).values("subject", *_FIELDS)
    return [EvaluationContext(**row) for row in rows[:MAX_SUBJECTS]]


def find_context(subject: str) -> EvaluationContext | None:
    """Return a subject's context as last seen, or None."""
    row = Subject.objects.filter(subject=subject).values("subject", *_FIELDS).first()
    return EvaluationContext(**row) if row else None


def _write_subjects(sightings: dict[str, _Sighting]) -> None:
    rows = [
        Subject(
            subject=subject,
            seen_at=at.replace(minute=0, second=0, microsecond=0),
            **{name: getattr(context, name) for name in _FIELDS if name != "traits"},
            traits=dict(context.traits),
        )
        for subject, (context, at) in sightings.items()
    ]
    Subject.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["subject"], update_fields=[*_FIELDS, "seen_at"], batch_size=500
    )


_buffer: WriteBehindBuffer[str, _Sighting] = WriteBehindBuffer(_write_subjects, again_after=RECORD_INTERVAL)
