"""Project calendars: display settings for a project's events."""

from django.db import models
from django.db.models import Q

from workspace.models import check_constraints
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.profile import DEFAULT_ZONE, validate_zone


class CalendarColor(models.TextChoices):
    """Calendar colours, with the numbers that calendar services use for them."""

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
    """Name and display settings of a project's calendar. Events belong to the project and do not need one."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="calendars",
        db_index=False,  # the constraint below begins with it
        help_text="The project whose events the calendar shows.",
    )
    name = models.CharField(max_length=200, help_text="Name of the calendar.")
    color_id = models.CharField(
        max_length=2, choices=CalendarColor, default=CalendarColor.PEACOCK.value, help_text="Its colour, 1 to 11."
    )
    sync_enabled = models.BooleanField(
        default=False, help_text="Whether to copy events to an external calendar once connected."
    )
    time_zone = models.CharField(
        max_length=64, default=DEFAULT_ZONE, validators=[validate_zone], help_text="Time zone of the calendar."
    )

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        constraints = [
            # Without a name a calendar cannot be identified in a list.
            check_constraints.require_text("name", name="calendar_name_given"),
            # Calendar services support only these colours.
            check_constraints.require_choice("color_id", CalendarColor, name="calendar_color_known"),
            # With two calendars, a project's events would have two colours.
            models.UniqueConstraint(
                fields=["project"], condition=Q(deleted_at=None), name="calendar_one_of_project_while_alive"
            ),
        ]

    def __str__(self) -> str:
        return self.name
