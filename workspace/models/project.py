"""Projects."""

from typing import Any, Self

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from workspace.models import base
from workspace.models.base import MAX_TAGS, Entity, EntityQuerySet, TagsField
from workspace.models.document import BRAIN_DUMPS, NOTES, Document
from workspace.models.planning import Plan
from workspace.models.task import Task, TaskState

MAX_CONTEXT_LENGTH = 100_000  # characters


class ProjectState(models.TextChoices):
    """The state of a project."""

    PLANNING = "planning", "planning"
    ACTIVE = "active", "active"
    PAUSED = "paused", "paused"
    COMPLETED = "completed", "completed"
    CANCELLED = "cancelled", "cancelled"


def _count_tasks(condition: Q) -> Coalesce:
    """Return a subquery that counts tasks. A join would duplicate the rows to be locked and paginated."""
    tasks = Task.objects.filter(condition, project=OuterRef("pk"), deleted_at=None).order_by().values("project")
    return Coalesce(Subquery(tasks.annotate(n=Count("*")).values("n")), 0, output_field=IntegerField())


def _exists_in_project(rows: QuerySet[Any]) -> Exists:
    return Exists(rows.filter(project=OuterRef("pk"), deleted_at=None))


class ProjectQuerySet(EntityQuerySet["Project"]):
    """Projects."""

    to_project = ""

    def with_context(self) -> Self:
        """Annotate task counts, and whether the project has phases, notes and brain dumps."""
        return self.annotate(
            task_count=_count_tasks(Q()),
            completed_task_count=_count_tasks(Q(state_key=TaskState.DONE)),
            has_phases=_exists_in_project(Plan.objects.all()),
            has_notes=_exists_in_project(Document.objects.filter(NOTES)),
            has_brain_dumps=_exists_in_project(Document.objects.filter(BRAIN_DUMPS)),
        )


class Project(Entity):
    """A body of work that a subject does alone or with other members."""

    name = models.CharField(max_length=200, help_text="Name of the project.")
    type_key = models.CharField(
        "type",
        max_length=100,
        validators=[
            RegexValidator(r"^project\.(creative|technical|business|service|education|personal)\.[a-z_]+(\.[a-z_]+)?$")
        ],
        help_text="The type of project: project.<realm>.<deliverable> or project.<realm>.<deliverable>.<variant>.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=ProjectState,
        default=ProjectState.PLANNING.value,
        help_text="State of the project; entering completed sets completed_at, leaving it clears completed_at.",
    )
    start_at = models.DateTimeField(null=True, blank=True, help_text="When the project starts; null clears it.")
    end_at = models.DateTimeField(null=True, blank=True, help_text="Planned end, not before start_at; null clears it.")
    slug = models.SlugField(
        max_length=80,
        blank=True,
        default="",
        db_index=False,  # nothing looks it up; it is not unique, so that nobody can probe for others' projects
        help_text="URL form of the name; generated from the name if not sent.",
    )
    executive_summary = models.TextField(
        blank=True, default="", max_length=5_000, help_text="Summary of the project in one paragraph; null clears it."
    )
    tags = TagsField(blank=True, default=list, help_text=f"At most {MAX_TAGS} short labels, one per line.")
    context = models.TextField(
        blank=True,
        default="",
        max_length=MAX_CONTEXT_LENGTH,
        help_text="Background knowledge about the project, in Markdown; null clears it.",
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)
    tree_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Number of changes to the document tree."
    )

    task_count: int = 0  # set by with_context(); a new row has none
    completed_task_count: int = 0
    has_phases: bool = False
    has_notes: bool = False
    has_brain_dumps: bool = False

    objects = ProjectQuerySet.as_manager()

    class Meta:
        constraints = [
            # Without a name a project cannot be identified in a list.
            base.require_text("name", name="project_name_given"),
            # With another prefix, no filter for project types would find the row.
            base.require_type_prefix("project.", name="project_type_key_of_project"),
            # No filter would find a state outside the enum.
            base.require_choice("state_key", ProjectState, name="project_state_known"),
            # A project cannot end before it begins.
            base.require_order("start_at", "end_at", name="project_end_not_before_start"),
            # completed_at is set for every completed project and for no other.
            base.require_stamp(
                "completed_at", state=ProjectState.COMPLETED, name="project_completed_at_while_completed"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def active_task_count(self) -> int:
        """Number of tasks that are not done."""
        return self.task_count - self.completed_task_count

    @property
    def completion_percentage(self) -> int:
        """Percentage of tasks that are done, rounded to the nearest."""
        return (self.completed_task_count * 200 + self.task_count) // (self.task_count * 2) if self.task_count else 0
