"""Tasks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Self

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Exists, F, OuterRef, Q

from workspace.models import rules
from workspace.models.edge import Edge, EdgeKind
from workspace.models.entity import Entity, EntityQuerySet

LONGEST_MINUTES = 60 * 24 * 31
DEPENDS_ON = "depends_on"  # the relation of a task to one that must be done before it
BLOCKS = "blocks"  # the same, told from the other end


class TaskState(models.TextChoices):
    """Where a task stands."""

    TODO = "todo", "to do"
    IN_PROGRESS = "in_progress", "in progress"
    BLOCKED = "blocked", "blocked"
    DONE = "done", "done"


class Recurrence(models.TextChoices):
    """How often a task comes again."""

    DAILY = "daily", "daily"
    WEEKDAYS = "weekdays", "weekdays"
    WEEKLY = "weekly", "weekly"
    BIWEEKLY = "biweekly", "biweekly"
    MONTHLY = "monthly", "monthly"


def is_overdue(columns: Mapping[str, Any], at: datetime) -> bool:
    """Whether a task of these columns should have been done by a time, and is not."""
    return columns["due_at"] is not None and columns["due_at"] < at and columns["state_key"] != TaskState.DONE


class TaskQuerySet(EntityQuerySet["Task"]):
    """Tasks, with what hangs on them told in hints."""

    def with_context(self) -> Self:
        """Add the project's name, and whether a task has subtasks and tasks that it waits for."""
        beside = Task.objects.filter(project=OuterRef("project"), deleted_at=None)
        subtasks = beside.filter(parent_task=OuterRef("pk"))
        waits = Exists(_edges(DEPENDS_ON, to="dst")) | Exists(_edges(BLOCKS, to="src"))
        return super().with_context().annotate(has_subtasks=Exists(subtasks), has_dependencies=waits)


def _edges(rel: str, *, to: str) -> models.QuerySet[Edge]:
    """Return a task's edges of a relation that lead to a task, at their end `to`, which is there to be waited for."""
    own = "src" if to == "dst" else "dst"
    needed = Task.objects.filter(pk=OuterRef(f"{to}_id"), project=OuterRef("project"), deleted_at=None)
    found = {f"{own}_id": OuterRef("pk"), f"{to}_kind": EdgeKind.TASK, "rel": rel, "deleted_at": None}
    return Edge.objects.filter(Exists(needed), **found)


class Task(Entity):
    """One piece of work in a project."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="tasks",
        db_index=False,  # the indexes below begin with it
        help_text="The project that the task is in.",
    )
    title = models.CharField(max_length=300, help_text="What is to be done, in a few words.")
    type_key = models.CharField(
        max_length=100,
        default="task.execute",
        validators=[
            RegexValidator(r"^task\.(execute|create|refine|research|review|coordinate|admin|plan)(\.[a-z_]+)?$")
        ],
        help_text="The kind of work: task.<work_mode> or task.<work_mode>.<specialisation>.",
    )
    state_key = models.CharField(
        max_length=20,
        choices=TaskState,
        default=TaskState.TODO.value,
        help_text="Where the task stands; becoming done stamps completed_at, leaving done clears it.",
    )
    priority = models.SmallIntegerField(
        default=3,
        validators=[MinValueValidator(rules.MOST_URGENT), MaxValueValidator(rules.LEAST_URGENT)],
        help_text="1 is the most urgent, 5 the least.",
    )
    start_at = models.DateTimeField(null=True, blank=True, help_text="When work is to begin; null clears it.")
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="When it must be done, not before start_at; null clears it."
    )
    details = models.TextField(
        blank=True, default="", max_length=20_000, help_text="Notes from the work, in markdown; null clears them."
    )
    duration_minutes = models.PositiveIntegerField(
        default=60,
        validators=[MinValueValidator(1), MaxValueValidator(LONGEST_MINUTES)],
        help_text="How long it is expected to take.",
    )
    recurrence = models.CharField(
        max_length=10, choices=Recurrence, blank=True, default="", help_text="How often it comes again; null for once."
    )
    recurrence_until = models.DateTimeField(
        null=True, blank=True, help_text="After which moment it does not come again; null for no end."
    )
    parent_task = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        related_name="subtasks",
        null=True,
        blank=True,
        db_index=False,  # the index below begins with it
        help_text="The task of the same project that it is a part of; null: none.",
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()
    has_subtasks: bool = False  # a new row has none
    has_dependencies: bool = False

    objects = TaskQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.task.list and .search: the newest tasks of a project, page by page.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="task_page_in_project"
            ),
            # onto.project.list, .search and .get: how many tasks a project has, and how many of them are done.
            models.Index(fields=["project", "state_key"], condition=Q(deleted_at=None), name="task_count_in_project"),
            # onto.task.get, and has_subtasks of a list row.
            models.Index(fields=["parent_task"], condition=Q(deleted_at=None), name="task_subtasks"),
        ]
        constraints = [
            # A task that cannot be named cannot be picked from a list.
            rules.not_empty("title", name="task_title_given"),
            # Type keys of other kinds would be found by nobody who looks for tasks.
            rules.typed("task.", name="task_type_key_of_task"),
            # A state outside the enum would be in no filter and in no count.
            rules.one_of("state_key", TaskState, name="task_state_known"),
            # The scale has five steps; a sixth would sort outside everything people and models are told.
            rules.urgency("priority", name="task_priority_in_range"),
            # Nothing takes no time, and nothing planned here takes longer than a month.
            models.CheckConstraint(
                condition=Q(duration_minutes__range=(1, LONGEST_MINUTES)),
                name="task_duration_in_range",
                violation_error_message=f"duration_minutes is 1 to {LONGEST_MINUTES}.",
            ),
            # A rhythm outside the enum would be in no calendar.
            models.CheckConstraint(
                condition=Q(recurrence="") | Q(recurrence__in=Recurrence.values),
                name="task_recurrence_known",
                violation_error_message=f"recurrence is one of {', '.join(Recurrence.values)}, or null.",
            ),
            # What happens once has no last time.
            models.CheckConstraint(
                condition=Q(recurrence_until=None) | ~Q(recurrence=""),
                name="task_until_of_recurring",
                violation_error_message="recurrence_until is for tasks that come again.",
            ),
            # A task that is its own parent would be in no list of subtasks that ends.
            models.CheckConstraint(
                condition=Q(parent_task=None) | ~Q(parent_task=F("pk")),
                name="task_not_its_own_parent",
                violation_error_message="parent_task_id must name another task.",
            ),
            # Work cannot be due before it begins.
            rules.in_order("start_at", "due_at", name="task_due_not_before_start"),
            # "Done when?" has an answer for every task that is done, and for no other.
            rules.stamped("completed_at", state=TaskState.DONE, name="task_completed_at_while_done"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def is_recurring(self) -> bool:
        """Whether the task comes again."""
        return bool(self.recurrence)
