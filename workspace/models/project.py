"""Projects."""

from typing import Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Count, IntegerField, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.task import Task, TaskState


class ProjectState(models.TextChoices):
    """Where a project stands."""

    PLANNING = "planning", "planning"
    ACTIVE = "active", "active"
    COMPLETED = "completed", "completed"
    CANCELLED = "cancelled", "cancelled"


def _tasks(condition: Q) -> Coalesce:
    """Count a project's tasks in a subquery: a join would multiply the rows that are locked and paged."""
    counted = Task.objects.filter(condition, project=OuterRef("pk"), deleted_at=None).order_by().values("project")
    return Coalesce(Subquery(counted.annotate(n=Count("*")).values("n")), 0, output_field=IntegerField())


class ProjectQuerySet(EntityQuerySet["Project"]):
    """Projects themselves."""

    to_project = ""

    def with_context(self) -> Self:
        """Add how many tasks there are, and how many of them are done."""
        return self.annotate(task_count=_tasks(Q()), done_task_count=_tasks(Q(state_key=TaskState.DONE)))


class Project(Entity):
    """Something a subject works towards, alone or with other members."""

    name = models.CharField(max_length=200, help_text="What people call the project.")
    type_key = models.CharField(
        max_length=100,
        validators=[
            RegexValidator(r"^project\.(creative|technical|business|service|education|personal)\.[a-z_]+(\.[a-z_]+)?$")
        ],
        help_text="What it delivers: project.<realm>.<deliverable> or project.<realm>.<deliverable>.<variant>.",
    )
    state_key = models.CharField(
        max_length=20,
        choices=ProjectState,
        default=ProjectState.PLANNING.value,
        help_text="Where the project stands; becoming completed stamps completed_at, leaving completed clears it.",
    )
    start_at = models.DateTimeField(null=True, blank=True, help_text="When it begins; null clears it.")
    end_at = models.DateTimeField(
        null=True, blank=True, help_text="When it is planned to end, not before start_at; null clears it."
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    task_count: int  # set by with_context()
    done_task_count: int

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            # A project that cannot be named cannot be picked from a list.
            rules.not_empty("name", name="project_name_given"),
            # Type keys of other kinds would be found by nobody who looks for projects.
            rules.typed("project.", name="project_type_key_of_project"),
            # A state outside the enum would be in no filter.
            rules.one_of("state_key", ProjectState, name="project_state_known"),
            # A project cannot end before it begins.
            rules.in_order("start_at", "end_at", name="project_end_not_before_start"),
            # "Completed when?" has an answer for every project that is completed, and for no other.
            rules.stamped("completed_at", state=ProjectState.COMPLETED, name="project_completed_at_while_completed"),
        ]

    def __str__(self) -> str:
        return self.name
