"""Events: what stands in calendars."""

from datetime import UTC, datetime
from typing import Self

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Case, F, OuterRef, Q, Subquery, Value, When

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.membership import CHANGING_ROLES, Membership, Role
from workspace.models.profile import DEFAULT_ZONE, validate_zone
from workspace.models.task import Recurrence

LONGEST_TITLE = 300
MOST_ATTENDEES, LONGEST_ATTENDEE = 50, 254

# Calendars reach no further: what lies outside is a slip of the hand, and its local times could not be told.
EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
LATEST = datetime(2200, 1, 1, tzinfo=UTC)

TIMED = Q(start_at__isnull=False, end_at__isnull=False, start_date=None, end_date=None)
ALL_DAY = Q(start_at=None, end_at=None, start_date__isnull=False, end_date__isnull=False)


class TaskEventKind(models.TextChoices):
    """What an event that is kept in step with a task says of the task."""

    START = "start", "start"
    DUE = "due", "due"
    RANGE = "range", "start to due"


class CalendarEventQuerySet(EntityQuerySet["CalendarEvent"]):
    """Events: of the subjects' own calendars, and of projects."""

    def alive(self) -> Self:
        """Leave out what is deleted, and what belongs to a deleted project or task."""
        kept_project = Q(project=None) | Q(project__deleted_at=None)
        kept_task = Q(task=None) | Q(task__deleted_at=None)
        return self.filter(kept_project, kept_task, deleted_at=None)

    def own(self, subject: str) -> Self:
        """Keep the events of a subject's own calendar."""
        return self.filter(project=None, subject=subject)

    def visible_to(self, subject: str) -> Self:
        """Keep a subject's own events and those of its projects; each row tells the subject's role as `subject_role`.

        In its own calendar a subject is the owner. An event of a task lies in the task's project and is seen with it.
        """
        places = Membership.objects.filter(subject=subject, deleted_at=None)
        seen = self.alive().filter(Q(project=None, subject=subject) | Q(project__in=places.values("project")))
        role = Subquery(places.filter(project=OuterRef("project")).values("role")[:1])
        return seen.annotate(subject_role=Case(When(project=None, then=Value(Role.OWNER.value)), default=role))

    def changeable_by(self, subject: str) -> Self:
        """Keep what a subject may change."""
        return self.visible_to(subject).filter(subject_role__in=CHANGING_ROLES)

    def taking_time(self) -> Self:
        """Leave out what only marks when a task is due: its half hour says until when, not that anybody is busy."""
        return self.exclude(task_event_kind=TaskEventKind.DUE)

    def with_context(self) -> Self:
        """Add the project's name, where the event is a project's."""
        return self.annotate(project_name=F("project__name"))


class CalendarEvent(Entity):
    """Something in the calendar of a subject or of a project: from one moment to another, or for whole days."""

    subject = models.CharField(
        max_length=200, blank=True, default="", help_text="Whose own calendar it is in; empty for a project's event."
    )
    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="events",
        null=True,
        blank=True,
        db_index=False,  # the index below begins with it
        help_text="The project whose calendar it is in; null for a subject's own.",
    )
    task = models.ForeignKey(
        "workspace.Task",
        on_delete=models.CASCADE,
        related_name="events",
        null=True,
        blank=True,
        help_text="The task of that project that it is time for.",
    )
    task_event_kind = models.CharField(
        max_length=10,
        choices=TaskEventKind,
        blank=True,
        default="",
        editable=False,
        help_text="Which of the task's dates it shows; empty for an event that follows no date.",
    )
    title = models.CharField(max_length=LONGEST_TITLE, help_text="What it is, in a few words.")
    location = models.CharField(max_length=500, blank=True, default="", help_text="Where it is; null clears it.")
    attendees = models.JSONField(blank=True, default=list, help_text="Names or addresses of who else takes part.")
    start_at = models.DateTimeField(null=True, blank=True, help_text="When it begins; null if it takes whole days.")
    end_at = models.DateTimeField(null=True, blank=True, help_text="When it ends; null if it takes whole days.")
    start_date = models.DateField(null=True, blank=True, help_text="The first of its whole days.")
    end_date = models.DateField(null=True, blank=True, help_text="The last of its whole days.")
    time_zone = models.CharField(
        max_length=64,
        default=DEFAULT_ZONE,
        validators=[validate_zone],
        help_text="The zone in whose local time it comes again, such as Europe/Berlin.",
    )
    recurrence = models.CharField(
        max_length=10, choices=Recurrence, blank=True, default="", help_text="How often it comes again; null for once."
    )
    recurrence_until = models.DateTimeField(
        null=True, blank=True, help_text="After which moment it does not begin again; null for no end."
    )

    project_name: str | None  # set by with_context()

    objects = CalendarEventQuerySet.as_manager()

    class Meta:
        indexes = [
            # cal.event.list: what has not ended yet, in a project's calendar or in a subject's own. History only grows,
            # so the end leads.
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
            # An event that cannot be named cannot be picked from a list.
            rules.not_empty("title", name="event_title_given"),
            # In no calendar nobody would see it, in two nobody could say who may change it.
            models.CheckConstraint(
                condition=(Q(project=None) & ~Q(subject="")) | Q(project__isnull=False, subject=""),
                name="event_in_one_calendar",
                violation_error_message="Give the event a subject or a project, one of the two.",
            ),
            # Who sees a task sees its events: they lie where it lies.
            models.CheckConstraint(
                condition=Q(task=None) | Q(project__isnull=False),
                name="event_of_task_in_project",
                violation_error_message="An event of a task is an event of its project; choose the project.",
            ),
            # What follows a date must say whose date it is.
            models.CheckConstraint(
                condition=Q(task_event_kind="") | Q(task_event_kind__in=TaskEventKind.values, task__isnull=False),
                name="event_kind_of_task_known",
                violation_error_message="task_event_kind is for events of tasks.",
            ),
            # Moments or days, each with its end: anything else would stand nowhere in a calendar.
            models.CheckConstraint(
                condition=TIMED | ALL_DAY,
                name="event_timed_or_all_day",
                violation_error_message="Give start_at and end_at, or start_date and end_date.",
            ),
            # An event takes some time, and a day is some time.
            models.CheckConstraint(
                condition=Q(start_at=None) | Q(start_at__lt=F("end_at")),
                name="event_start_before_end",
                violation_error_message="end_at must be after start_at.",
            ),
            rules.in_order("start_date", "end_date", name="event_end_date_not_before_start"),
            # A rhythm outside the enum could not be followed.
            models.CheckConstraint(
                condition=Q(recurrence="") | Q(recurrence__in=Recurrence.values),
                name="event_recurrence_known",
                violation_error_message=f"recurrence is one of {', '.join(Recurrence.values)}, or empty.",
            ),
            # What happens once has no last time.
            models.CheckConstraint(
                condition=Q(recurrence_until=None) | ~Q(recurrence=""),
                name="event_until_of_recurring",
                violation_error_message="recurrence_until is for events that come again.",
            ),
            # Two events for one date of one task would part ways. Task first: the index finds a task's events.
            models.UniqueConstraint(
                fields=["task", "task_event_kind"],
                condition=Q(deleted_at=None) & ~Q(task_event_kind=""),
                name="event_unique_of_task_date",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        """Refuse an event of a task that lies in another project, and attendees that are no list of texts."""
        super().clean()
        if self.task is not None and self.task.project_id != self.project_id:
            raise ValidationError({"project": "Choose the project of the task."})
        if not isinstance(self.attendees, list) or not all(isinstance(each, str) for each in self.attendees):
            raise ValidationError({"attendees": 'Send a list of names or addresses, such as ["Ines"].'})

    @property
    def is_all_day(self) -> bool:
        """Whether it takes whole days, wherever one is."""
        return self.start_date is not None
