"""Tasks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from workspace.models import base
from workspace.models.base import Entity, EntityQuerySet
from workspace.models.edge import Edge, EdgeKind

MAX_DURATION_MINUTES = 60 * 24 * 31
DEPENDS_ON = "depends_on"  # from a task to one that must be done before it
BLOCKS = "blocks"  # the same in the other direction


class TaskState(models.TextChoices):
    """The state of a task."""

    TODO = "todo", "to do"
    IN_PROGRESS = "in_progress", "in progress"
    BLOCKED = "blocked", "blocked"
    DONE = "done", "done"


class Recurrence(models.TextChoices):
    """How often a task or an event recurs."""

    DAILY = "daily", "daily"
    WEEKDAYS = "weekdays", "weekdays"
    WEEKLY = "weekly", "weekly"
    BIWEEKLY = "biweekly", "biweekly"
    MONTHLY = "monthly", "monthly"


def is_overdue(columns: Mapping[str, Any], at: datetime) -> bool:
    """Whether a task with these columns is past its due date and not done."""
    return columns["due_at"] is not None and columns["due_at"] < at and columns["state_key"] != TaskState.DONE


def filter_overdue(at: datetime) -> Q:
    """Return the condition for `is_overdue`."""
    return Q(due_at__lt=at) & ~Q(state_key=TaskState.DONE)


class TaskQuerySet(EntityQuerySet["Task"]):
    """Tasks, with flags for subtasks and dependencies."""

    def with_context(self) -> Self:
        """Annotate the project's name, and whether the task has subtasks and dependencies."""
        project_tasks = Task.objects.filter(project=OuterRef("project"), deleted_at=None)
        subtasks = project_tasks.filter(parent_task=OuterRef("pk"))
        has_dependencies = Exists(_filter_task_edges(DEPENDS_ON, far_end="dst")) | Exists(
            _filter_task_edges(BLOCKS, far_end="src")
        )
        return super().with_context().annotate(has_subtasks=Exists(subtasks), has_dependencies=has_dependencies)


def _filter_task_edges(rel: str, *, far_end: str) -> models.QuerySet[Edge]:
    """Return the edges of a relation between the outer task and a living task at the `far_end`, as a subquery."""
    near_end = "src" if far_end == "dst" else "dst"
    living_tasks = Task.objects.filter(pk=OuterRef(f"{far_end}_id"), project=OuterRef("project"), deleted_at=None)
    conditions = {f"{near_end}_id": OuterRef("pk"), f"{far_end}_kind": EdgeKind.TASK, "rel": rel, "deleted_at": None}
    return Edge.objects.filter(Exists(living_tasks), **conditions)


class Task(Entity):
    """A piece of work in a project."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="tasks",
        db_index=False,  # the indexes below begin with it
        help_text="The project that the task belongs to.",
    )
    title = models.CharField(max_length=300, help_text="What to do, in a few words.")
    type_key = models.CharField(
        "type",
        max_length=100,
        default="task.execute",
        validators=[
            RegexValidator(r"^task\.(execute|create|refine|research|review|coordinate|admin|plan)(\.[a-z_]+)?$")
        ],
        help_text="The type of work: task.<work_mode> or task.<work_mode>.<specialisation>.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=TaskState,
        default=TaskState.TODO.value,
        help_text="State of the task; entering done sets completed_at, leaving it clears completed_at.",
    )
    priority = models.SmallIntegerField(
        default=3,
        validators=[
            MinValueValidator(base.HIGHEST_PRIORITY),
            MaxValueValidator(base.LOWEST_PRIORITY),
        ],
        help_text="1 (most urgent) to 5 (least urgent).",
    )
    start_at = models.DateTimeField(null=True, blank=True, help_text="When work should start; null clears it.")
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="When the task must be done, not before start_at; null clears it."
    )
    details = models.TextField(
        blank=True, default="", max_length=20_000, help_text="Working notes, in Markdown; null clears them."
    )
    duration_minutes = models.PositiveIntegerField(
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_DURATION_MINUTES)],
        help_text="Expected duration in minutes.",
    )
    recurrence = models.CharField(
        max_length=10, choices=Recurrence, blank=True, default="", help_text="How often the task recurs; null for once."
    )
    recurrence_until = models.DateTimeField(
        null=True, blank=True, help_text="The task does not recur after this time; null for no end."
    )
    parent_task = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        related_name="subtasks",
        null=True,
        blank=True,
        db_index=False,  # the index below begins with it
        help_text="The parent task, in the same project; null for none.",
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)
    is_scheduled = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Whether it is worked on for its duration from start_at, apart from its deadline.",
    )
    skipped_occurrences = models.JSONField(
        blank=True,
        default=list,
        db_default=[],
        editable=False,
        help_text="Numbers, counted from 0, of the occurrences that were cancelled or became tasks of their own.",
    )

    project_name: str  # set by with_context()
    has_subtasks: bool = False  # a new row has none
    has_dependencies: bool = False

    objects = TaskQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.task.list and .search: pages of a project's tasks, newest update first.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="task_page_in_project"
            ),
            # onto.project.list, .search and .get: counts of all tasks and of done tasks.
            models.Index(fields=["project", "state_key"], condition=Q(deleted_at=None), name="task_count_in_project"),
            # onto.task.get, and has_subtasks in list rows.
            models.Index(fields=["parent_task"], condition=Q(deleted_at=None), name="task_subtasks"),
        ]
        constraints = [
            # Without a title a task cannot be identified in a list.
            base.require_text("title", name="task_title_given"),
            # With another prefix, no filter for task types would find the row.
            base.require_type_prefix("task.", name="task_type_key_of_task"),
            # No filter or count would include a state outside the enum.
            base.require_choice("state_key", TaskState, name="task_state_known"),
            # The documented scale has five steps.
            base.require_priority_range("priority", name="task_priority_in_range"),
            # A task takes at least a minute and at most a month.
            models.CheckConstraint(
                condition=Q(duration_minutes__range=(1, MAX_DURATION_MINUTES)),
                name="task_duration_in_range",
                violation_error_message=f"duration_minutes must be between 1 and {MAX_DURATION_MINUTES}.",
            ),
            # The recurrence rules cover only the enum.
            models.CheckConstraint(
                condition=Q(recurrence="") | Q(recurrence__in=Recurrence.values),
                name="task_recurrence_known",
                violation_error_message=f"recurrence must be one of {', '.join(Recurrence.values)}, or null.",
            ),
            # A task that does not recur has no last occurrence.
            models.CheckConstraint(
                condition=Q(recurrence_until=None) | ~Q(recurrence=""),
                name="task_until_of_recurring",
                violation_error_message="recurrence_until requires recurrence.",
            ),
            # A task cannot be its own parent. services/subtasks.py prevents longer cycles.
            models.CheckConstraint(
                condition=Q(parent_task=None) | ~Q(parent_task=F("pk")),
                name="task_not_its_own_parent",
                violation_error_message="parent_task_id must be a different task.",
            ),
            # Work cannot be due before it starts.
            base.require_order("start_at", "due_at", name="task_due_not_before_start"),
            # completed_at is set for every done task and for no other.
            base.require_stamp("completed_at", state=TaskState.DONE, name="task_completed_at_while_done"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_recurring(self) -> bool:
        """Whether the task recurs."""
        return bool(self.recurrence)
