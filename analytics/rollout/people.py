"""Whom flags were evaluated for: each subject as last seen, written down in the background, at most once an hour."""

from datetime import datetime, timedelta

from analytics.rollout.facts import Facts
from analytics.rollout.models import Subject
from analytics.rollout.noted import Noted

EVERY = timedelta(hours=1)
RECENT = timedelta(days=7)
MOST = 20_000  # subjects that a change is tried on: what is more costs a second

_FIELDS = ("client", "environment", "context", "project", "model", "traits")

_Sighting = tuple[Facts, datetime]


def is_due(subject: str, at: datetime) -> bool:
    """Whether somebody is to be written down: not in the last hour, and nobody unknown."""
    return bool(subject) and _noted.is_due(subject, at)


def note(facts: Facts, at: datetime) -> None:
    """Have a subject written down within half a second, where that was not done in the last hour. Never waits long."""
    if facts.subject:
        _noted.put(facts.subject, (facts, at), at)


def follow() -> None:
    """Write down whom this process saw. One statement, none where that was nobody."""
    _noted.follow()


def forget() -> None:
    """Drop what is in memory, as a new process would begin."""
    _noted.forget()


def recent(at: datetime) -> list[Facts]:
    """Return who was seen in the last seven days, at most 20,000, the latest first."""
    rows = Subject.objects.filter(seen_at__gte=at - RECENT).values("subject", *_FIELDS)
    return [Facts(**row) for row in rows[:MOST]]


def known(subject: str) -> Facts | None:
    """Return a subject as last seen."""
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
