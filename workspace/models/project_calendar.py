"""Calendars of projects: how a project's events are shown."""

from django.db import models
from django.db.models import Q

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.profile import DEFAULT_ZONE, validate_zone


class CalendarColor(models.TextChoices):
    """The colours that calendars come in, by the numbers that calendar services give them."""

    LAVENDER = "1", "lavender"
    SAGE = "2", "sage"
    GRAPE = "3", "grape"
    FLAMINGO = "4", "flamingo"
    BANANA = "5", "banana"
    TANGERINE = "6", "tangerine"
    PEACOCK = "7", "peacock"
    GRAPHITE = "8", "graphite"
    BLUEBERRY = "9", "blueberry"
    BASIL = "10", "basil"
    TOMATO = "11", "tomato"


class ProjectCalendar(Entity):
    """How a project's calendar is called and shown. The events need none: they belong to the project itself."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="calendars",
        db_index=False,  # the constraint below begins with it
        help_text="The project whose events it holds.",
    )
    name = models.CharField(max_length=200, help_text="What the calendar is called.")
    color_id = models.CharField(
        max_length=2, choices=CalendarColor, default=CalendarColor.PEACOCK.value, help_text="Its colour, 1 to 11."
    )
    sync_enabled = models.BooleanField(
        default=False, help_text="Whether its events are to be copied to an external calendar once one is connected."
    )
    time_zone = models.CharField(
        max_length=64, default=DEFAULT_ZONE, validators=[validate_zone], help_text="The zone it is shown in."
    )

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        constraints = [
            # A calendar without a name is a blank line in a list of calendars.
            rules.not_empty("name", name="calendar_name_given"),
            # Calendar services know no other colours.
            rules.one_of("color_id", CalendarColor, name="calendar_color_known"),
            # With two of them a project's events would have two colours.
            models.UniqueConstraint(
                fields=["project"], condition=Q(deleted_at=None), name="calendar_one_of_project_while_alive"
            ),
        ]

    def __str__(self) -> str:
        return self.name
