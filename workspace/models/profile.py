"""Profiles of subjects."""

import uuid
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from workspace.models import base, working_week
from workspace.models.base import AsSent

DEFAULT_ZONE = "UTC"


@cache
def get_zone_names() -> frozenset[str]:
    """Return the IANA time zone names available on this machine. Cached, because it reads many files."""
    return frozenset(available_timezones())


def validate_zone(name: str) -> None:
    """Raise ValidationError if the name is not a time zone."""
    if name not in get_zone_names():
        raise ValidationError("Enter the IANA name of a time zone, such as Europe/Berlin or America/New_York.")


class Profile(models.Model):
    """A subject's name, time zone, working hours and preferences.

    Administrators edit profiles. A subject without a profile has the defaults. Delete the row to erase a subject.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subject = models.CharField(max_length=200, help_text="The subject's id, as the chat service sends it.")
    name = models.CharField(max_length=200, blank=True, default="", help_text="The person's name.")
    time_zone = models.CharField(
        max_length=64,
        default=DEFAULT_ZONE,
        validators=[validate_zone],
        help_text="Time zone of all calendar times, as an IANA name such as Europe/Berlin.",
    )
    working_hours = models.JSONField(
        blank=True,
        default=working_week.usual,
        help_text='Local times by weekday: {"monday": ["09:00-12:00", "13:00-17:00"]}. A day without times is '
        "a day off. A night shift is 22:00-24:00 on one day and 00:00-06:00 on the next.",
    )
    preferences = models.JSONField(
        blank=True,
        default=dict,
        decoder=AsSent,
        help_text='Work preferences, as a JSON object such as {"focus": "mornings"}.',
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            # Each subject has one profile. Lookups use the index of this constraint.
            models.UniqueConstraint(
                fields=["subject"],
                name="profile_unique_subject",
                violation_error_message="This subject already has a profile; edit that one.",
            ),
            # A call without a subject must never match a profile.
            base.require_text("subject", name="profile_subject_given"),
            # Calendar times cannot be shown without a time zone.
            base.require_text("time_zone", name="profile_time_zone_given"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.subject})" if self.name else self.subject

    def clean(self) -> None:
        """Validate working_hours and preferences, for which SQL has no portable constraint."""
        try:
            working_week.validate_week(self.working_hours)
        except ValidationError as error:
            raise ValidationError({"working_hours": error.messages}) from error
        if not isinstance(self.preferences, dict):
            raise ValidationError({"preferences": 'Enter a JSON object, such as {"focus": "mornings"}.'})

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the subject's calendar times."""
        return ZoneInfo(self.time_zone)
