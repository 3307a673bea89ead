"""The profile of whoever asks, and of nobody else."""

from zoneinfo import ZoneInfo

from workspace.models import Profile


def of(subject: str) -> Profile:
    """Return the subject's profile; one with the defaults, not saved, where it has none."""
    return Profile.objects.filter(subject=subject).first() or Profile(subject=subject)


def zone(subject: str) -> ZoneInfo:
    """Return the zone that rules the subject's calendar times."""
    return of(subject).zone
