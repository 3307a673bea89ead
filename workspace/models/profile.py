"""What is known of a subject itself."""

import uuid
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone

from workspace.models import rules, week
from workspace.models.entity import AsSent

DEFAULT_ZONE = "UTC"


@cache
def zones() -> frozenset[str]:
    """Return the names that the IANA database has on this machine, read from its files once."""
    return frozenset(available_timezones())


def validate_zone(name: str) -> None:
    """Refuse a name that is no time zone."""
    if name not in zones():
        raise ValidationError("Write the IANA name of a time zone, such as Europe/Berlin or America/New_York.")


class Profile(models.Model):
    """Who a subject is to the workspace: its name, its time zone and when it works.

    Administrators write it. A subject without a row has the defaults, and one that is to be forgotten loses its row.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subject = models.CharField(max_length=200, help_text="The subject's id, as the chat service sends it.")
    name = models.CharField(max_length=200, blank=True, default="", help_text="What to call the person.")
    time_zone = models.CharField(
        max_length=64,
        default=DEFAULT_ZONE,
        validators=[validate_zone],
        help_text="The IANA name of the zone that rules all calendar times, such as Europe/Berlin.",
    )
    working_hours = models.JSONField(
        blank=True,
        default=week.usual,
        help_text='By weekday, spans of wall time: {"monday": ["09:00-12:00", "13:00-17:00"]}. A day without spans is '
        "a day off; a night's work is 22:00-24:00 on one day and 00:00-06:00 on the next.",
    )
    preferences = models.JSONField(
        blank=True,
        default=dict,
        decoder=AsSent,
        help_text='How the person likes to work, as a JSON object such as {"focus": "mornings"}.',
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            # A subject lives in one zone; the constraint's index is the one that finds it.
            models.UniqueConstraint(
                fields=["subject"],
                name="profile_unique_subject",
                violation_error_message="This subject has a profile already; change that one.",
            ),
            # A call without a subject must never be given anybody's profile.
            rules.not_empty("subject", name="profile_subject_given"),
            # Without a zone no calendar time could be told.
            rules.not_empty("time_zone", name="profile_time_zone_given"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.subject})" if self.name else self.subject

    def clean(self) -> None:
        """Refuse hours that are none, and preferences that are no object: SQL has no portable rule for either."""
        try:
            week.validate(self.working_hours)
        except ValidationError as error:
            raise ValidationError({"working_hours": error.messages}) from error
        if not isinstance(self.preferences, dict):
            raise ValidationError({"preferences": 'Write a JSON object, such as {"focus": "mornings"}.'})

    @property
    def zone(self) -> ZoneInfo:
        """Return the zone that rules the subject's calendar times."""
        return ZoneInfo(self.time_zone)
