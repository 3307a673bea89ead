"""Subjects as last seen in flag evaluations, written in the background, at most once an hour each."""

from datetime import datetime, timedelta

from analytics.rollout.facts import Facts
from analytics.rollout.models import Subject
from analytics.rollout.noted import Noted

EVERY = timedelta(hours=1)
RECENT = timedelta(days=7)
MOST = 20_000  # subjects in the preview of a change; 20,000 take about a second

_FIELDS = ("client", "environment", "context", "project", "model", "traits")

_Sighting = tuple[Facts, datetime]


def is_due(subject: str, at: datetime) -> bool:
    """Return whether a subject should be queued: it is known, and was not queued in the last hour."""
    return bool(subject) and _noted.is_due(subject, at)


def note(facts: Facts, at: datetime) -> None:
    """Queue a subject, to be written within half a second, at most once an hour. Does not block."""
    if facts.subject:
        _noted.put(facts.subject, (facts, at), at)


def follow() -> None:
    """Write this process's queued subjects in one statement, if there are any."""
    _noted.follow()


def forget() -> None:
    """Clear the memory of this process, for tests."""
    _noted.forget()


def recent(at: datetime) -> list[Facts]:
    """Return the subjects seen in the last seven days, latest first, at most 20,000."""
    rows = Subject.objects.filter(seen_at__gte=at - RECENT).values("subject", *_FIELDS)
    return [Facts(**row) for row in rows[:MOST]]


def known(subject: str) -> Facts | None:
    """Return a subject's context as last seen, or None."""
    row = Subject.objects.filter(subject=subject).values("subject", *_FIELDS).first()
    return Facts(**row) if row else None


def _write(noted: dict[str, _Sighting]) -> None:
    rows = [
        Subject(
            subject=subject,
            seen_at=at.replace(minute=0, second=0, microsecond=0),
            **{name: getattr(facts, name) for name in _FIELDS if name != "traits"},
            traits=dict(facts.traits),
        )
        for subject, (facts, at) in noted.items()
    ]
    Subject.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["subject"], update_fields=[*_FIELDS, "seen_at"], batch_size=500
    )


_noted: Noted[str, _Sighting] = Noted(_write, again_after=EVERY)
