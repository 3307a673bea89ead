"""Tasks."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet

MOST_URGENT, LEAST_URGENT = 1, 5


class TaskState(models.TextChoices):
    """Where a task stands."""

    TODO = "todo", "to do"
    IN_PROGRESS = "in_progress", "in progress"
    BLOCKED = "blocked", "blocked"
    DONE = "done", "done"


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
        validators=[MinValueValidator(MOST_URGENT), MaxValueValidator(LEAST_URGENT)],
        help_text="1 is the most urgent, 5 the least.",
    )
    start_at = models.DateTimeField(null=True, blank=True, help_text="When work is to begin; null clears it.")
    due_at = models.DateTimeField(
        null=True, blank=True, help_text="When it must be done, not before start_at; null clears it."
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.task.list and .search: the newest tasks of a project, page by page.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="task_page_in_project"
            ),
            # onto.project.list, .search and .get: how many tasks a project has, and how many of them are done.
            models.Index(fields=["project", "state_key"], condition=Q(deleted_at=None), name="task_count_in_project"),
        ]
        constraints = [
            # A task that cannot be named cannot be picked from a list.
            rules.not_empty("title", name="task_title_given"),
            # Type keys of other kinds would be found by nobody who looks for tasks.
            rules.typed("task.", name="task_type_key_of_task"),
            # A state outside the enum would be in no filter and in no count.
            rules.one_of("state_key", TaskState, name="task_state_known"),
            # The scale has five steps; a sixth would sort outside everything people and models are told.
            models.CheckConstraint(
                condition=Q(priority__range=(MOST_URGENT, LEAST_URGENT)),
                name="task_priority_in_range",
                violation_error_message=f"priority is {MOST_URGENT} (the most urgent) to {LEAST_URGENT}.",
            ),
            # Work cannot be due before it begins.
            rules.in_order("start_at", "due_at", name="task_due_not_before_start"),
            # "Done when?" has an answer for every task that is done, and for no other.
            rules.stamped("completed_at", state=TaskState.DONE, name="task_completed_at_while_done"),
        ]

    def __str__(self) -> str:
        return self.title
