"""Events, series of events, and calendars of projects."""

from datetime import UTC, datetime
from typing import Self

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Case, F, OuterRef, Q, Subquery, Value, When

from workspace.models import base
from workspace.models.base import EDITING_ROLES, Entity, EntityQuerySet, MemberRole, Membership
from workspace.models.profile import DEFAULT_ZONE, validate_zone
from workspace.models.task import Recurrence

MAX_TITLE_LENGTH = 300
MAX_ATTENDEES, MAX_ATTENDEE_LENGTH = 50, 254

# Times outside this range are mistakes, and their local times cannot be written as RFC 3339.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)
TIMED = Q(start_at__isnull=False, end_at__isnull=False, start_date=None, end_date=None)
ALL_DAY = Q(start_at=None, end_at=None, start_date__isnull=False, end_date__isnull=False)


class TaskEventKind(models.TextChoices):
    """Which dates of its task an event shows. Such an event is synchronised with the task."""

    START = "start", "start"
    DUE = "due", "due"
    RANGE = "range", "start to due"


class CalendarEventQuerySet(EntityQuerySet["CalendarEvent"]):
    """Events of personal calendars and of projects."""

    def alive(self) -> Self:
        """Exclude deleted events and events of a deleted project or task."""
        project_alive = Q(project=None) | Q(project__deleted_at=None)
        task_alive = Q(task=None) | Q(task__deleted_at=None)
        return self.filter(project_alive, task_alive, deleted_at=None)

    def owned_by(self, subject: str) -> Self:
        """Filter to the events in a subject's own calendar."""
        return self.filter(project=None, subject=subject)

    def visible_to(self, subject: str) -> Self:
        """Filter to a subject's own events and those of its projects, annotated with its role as `subject_role`.

        A subject is the owner of its own calendar. An event of a task belongs to the task's project.
        """
        memberships = Membership.objects.filter(subject=subject, deleted_at=None)
        visible = self.alive().filter(Q(project=None, subject=subject) | Q(project__in=memberships.values("project")))
        role = Subquery(memberships.filter(project=OuterRef("project")).values("role")[:1])
        return visible.annotate(subject_role=Case(When(project=None, then=Value(MemberRole.OWNER.value)), default=role))

    def changeable_by(self, subject: str) -> Self:
        """Filter to the events that a subject can change."""
        return self.visible_to(subject).filter(subject_role__in=EDITING_ROLES)

    def exclude_due_markers(self) -> Self:
        """Exclude due-date markers of tasks: their half hour marks a deadline, not busy time."""
        return self.exclude(task_event_kind=TaskEventKind.DUE)

    def with_context(self) -> Self:
        """Annotate the name of the project, if the event belongs to one."""
        return self.annotate(project_name=F("project__name"))


class CalendarEvent(Entity):
    """An event in the calendar of a subject or project, either timed or for whole days."""

    subject = models.CharField(
        max_length=200, blank=True, default="", help_text="Owner, if personal; empty for project events."
    )
    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="events",
        null=True,
        blank=True,
        db_index=False,  # the index below begins with it
        help_text="The project that the event belongs to; null for a personal event.",
    )
    task = models.ForeignKey(
        "workspace.Task",
        on_delete=models.CASCADE,
        related_name="events",
        null=True,
        blank=True,
        help_text="The task of the same project that the event is for.",
    )
    task_event_kind = models.CharField(
        max_length=10,
        choices=TaskEventKind,
        blank=True,
        default="",
        editable=False,
        help_text="Which of the task's dates the event shows; empty if it shows none.",
    )
    title = models.CharField(max_length=MAX_TITLE_LENGTH, help_text="Short title of the event.")
    location = models.CharField(max_length=500, blank=True, default="", help_text="Where it is; null clears it.")
    attendees = models.JSONField(blank=True, default=list, help_text="Names or addresses of participants.")
    start_at = models.DateTimeField(null=True, blank=True, help_text="When it starts; null for an all-day event.")
    end_at = models.DateTimeField(null=True, blank=True, help_text="When it ends; null for an all-day event.")
    start_date = models.DateField(null=True, blank=True, help_text="First day of an all-day event.")
    end_date = models.DateField(null=True, blank=True, help_text="Last day of an all-day event, inclusive.")
    time_zone = models.CharField(
        max_length=64,
        default=DEFAULT_ZONE,
        validators=[validate_zone],
        help_text="The time zone in which the event recurs, such as Europe/Berlin.",
    )
    recurrence = models.CharField(
        max_length=10, choices=Recurrence, blank=True, default="", help_text="How often it recurs; null for once."
    )
    recurrence_until = models.DateTimeField(
        null=True, blank=True, help_text="No occurrence starts after this time; null for no end."
    )

    excluded_starts = models.JSONField(
        blank=True,
        default=list,
        db_default=[],
        editable=False,
        help_text="Starts of occurrences that were cancelled or moved away; in UTC, or dates of whole days.",
    )

    project_name: str | None  # set by with_context()

    objects = CalendarEventQuerySet.as_manager()

    class Meta:
        indexes = [
            # cal.event.list: events that have not ended yet, of a project or a subject. Past events only accumulate, so
            # end_at comes right after the owner.
            models.Index(
                fields=["project", "end_at"],
                condition=Q(deleted_at=None, project__isnull=False),
                name="event_in_project_by_end",
            ),
            models.Index(
                fields=["subject", "end_at"],
                condition=Q(deleted_at=None, project=None),
                name="event_own_by_end",
            ),
        ]
        constraints = [
            # Without a title an event cannot be identified in a list.
            base.require_text("title", name="event_title_given"),
            # Without a calendar nobody could see it. In two calendars it would be unclear who can change it.
            models.CheckConstraint(
                condition=(Q(project=None) & ~Q(subject="")) | Q(project__isnull=False, subject=""),
                name="event_in_one_calendar",
                violation_error_message="Set either subject or project, not both.",
            ),
            # Events of a task have the visibility of the task, so they belong to its project.
            models.CheckConstraint(
                condition=Q(task=None) | Q(project__isnull=False),
                name="event_of_task_in_project",
                violation_error_message="An event of a task belongs to its project; choose that project.",
            ),
            # An event that shows a date must name the task that has it.
            models.CheckConstraint(
                condition=Q(task_event_kind="") | Q(task_event_kind__in=TaskEventKind.values, task__isnull=False),
                name="event_kind_of_task_known",
                violation_error_message="task_event_kind requires a task.",
            ),
            # Timed or all-day, each with both ends. Anything else could not be placed in a calendar.
            models.CheckConstraint(
                condition=TIMED | ALL_DAY,
                name="event_timed_or_all_day",
                violation_error_message="Set start_at and end_at, or start_date and end_date.",
            ),
            # A timed event has a positive duration. An all-day event always has one.
            models.CheckConstraint(
                condition=Q(start_at=None) | Q(start_at__lt=F("end_at")),
                name="event_start_before_end",
                violation_error_message="end_at must be after start_at.",
            ),
            base.require_order("start_date", "end_date", name="event_end_date_not_before_start"),
            # The recurrence rules cover only the enum.
            models.CheckConstraint(
                condition=Q(recurrence="") | Q(recurrence__in=Recurrence.values),
                name="event_recurrence_known",
                violation_error_message=f"recurrence must be one of {', '.join(Recurrence.values)}, or empty.",
            ),
            # An event that does not recur has no last occurrence.
            models.CheckConstraint(
                condition=Q(recurrence_until=None) | ~Q(recurrence=""),
                name="event_until_of_recurring",
                violation_error_message="recurrence_until requires recurrence.",
            ),
            # Two events for one date of a task could diverge. Task first: the index also finds a task's events.
            models.UniqueConstraint(
                fields=["task", "task_event_kind"],
                condition=Q(deleted_at=None) & ~Q(task_event_kind=""),
                name="event_unique_of_task_date",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        """Require that the task belongs to the event's project and that attendees is a list of strings."""
        super().clean()
        if self.task is not None and self.task.project_id != self.project_id:
            raise ValidationError({"project": "Choose the task's project."})
        if not isinstance(self.attendees, list) or not all(isinstance(attendee, str) for attendee in self.attendees):
            raise ValidationError({"attendees": 'Enter a list of names or addresses, such as ["Ines"].'})

    @property
    def is_all_day(self) -> bool:
        """Whether the event takes whole days, in any time zone."""
        return self.start_date is not None


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
            base.require_text("name", name="calendar_name_given"),
            # Calendar services support only these colours.
            base.require_choice("color_id", CalendarColor, name="calendar_color_known"),
            # With two calendars, a project's events would have two colours.
            models.UniqueConstraint(
                fields=["project"], condition=Q(deleted_at=None), name="calendar_one_of_project_while_alive"
            ),
        ]

    def __str__(self) -> str:
        return self.name
