"""Projects."""

from typing import Any, Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from workspace.models import rules
from workspace.models.document import BRAIN_DUMPS, NOTES, Document
from workspace.models.entity import Entity, EntityQuerySet
from workspace.models.plan import Plan
from workspace.models.tags import MOST, TagsField
from workspace.models.task import Task, TaskState

LONGEST_CONTEXT = 100_000  # characters


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


def _has(rows: QuerySet[Any]) -> Exists:
    return Exists(rows.filter(project=OuterRef("pk"), deleted_at=None))


class ProjectQuerySet(EntityQuerySet["Project"]):
    """Projects themselves."""

    to_project = ""

    def with_context(self) -> Self:
        """Add how many tasks there are, how many of them are done, and whether there are phases, notes, brain dumps."""
        return self.annotate(
            task_count=_tasks(Q()),
            completed_task_count=_tasks(Q(state_key=TaskState.DONE)),
            has_phases=_has(Plan.objects.all()),
            has_notes=_has(Document.objects.filter(NOTES)),
            has_brain_dumps=_has(Document.objects.filter(BRAIN_DUMPS)),
        )


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
    slug = models.SlugField(
        max_length=80,
        blank=True,
        default="",
        db_index=False,  # nothing looks for it: it is not unique, or one subject could probe for another's projects
        help_text="The name in the form that addresses take; made from the name where none is given.",
    )
    executive_summary = models.TextField(
        blank=True, default="", max_length=5_000, help_text="The whole project in a paragraph; null clears it."
    )
    tags = TagsField(blank=True, default=list, help_text=f"At most {MOST} short labels, a line each.")
    context = models.TextField(
        blank=True,
        default="",
        max_length=LONGEST_CONTEXT,
        help_text="All that is known about the project, in markdown; null clears it.",
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)
    tree_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="How often the tree of its documents has changed."
    )

    task_count: int = 0  # set by with_context(); a new row has none
    completed_task_count: int = 0
    has_phases: bool = False
    has_notes: bool = False
    has_brain_dumps: bool = False

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

    @property
    def active_task_count(self) -> int:
        """How many tasks are still to be done, begun or not."""
        return self.task_count - self.completed_task_count

    @property
    def completion_percentage(self) -> int:
        """How many of a hundred tasks are done; rounded down, so that 100 says that all of them are."""
        return self.completed_task_count * 100 // self.task_count if self.task_count else 0
