"""The profile of the calling subject."""

from zoneinfo import ZoneInfo

from workspace.models import Profile


def get_profile(subject: str) -> Profile:
    """Return the subject's profile, or an unsaved one with the defaults."""
    return Profile.objects.filter(subject=subject).first() or Profile(subject=subject)


def get_zone(subject: str) -> ZoneInfo:
    """Return the time zone of the subject's calendar times."""
    return get_profile(subject).zone
