"""Goals."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet


class GoalState(models.TextChoices):
    """Where a goal stands."""

    DRAFT = "draft", "draft"
    ACTIVE = "active", "active"
    ACHIEVED = "achieved", "achieved"
    ABANDONED = "abandoned", "abandoned"


class Goal(Entity):
    """What a project is to reach."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="goals",
        db_index=False,  # the index below begins with it
        help_text="The project that the goal belongs to.",
    )
    name = models.CharField(max_length=200, help_text="What is to be reached, in a few words.")
    type_key = models.CharField(
        max_length=100,
        default="goal.outcome.project",
        validators=[RegexValidator(r"^goal\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The kind of goal: goal.<family> or goal.<family>.<variant>.",
    )
    state_key = models.CharField(
        max_length=20,
        choices=GoalState,
        default=GoalState.DRAFT.value,
        help_text="Where the goal stands; becoming achieved stamps completed_at, leaving achieved clears it.",
    )
    priority = models.SmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(rules.MOST_URGENT), MaxValueValidator(rules.LEAST_URGENT)],
        help_text="1 is the most urgent, 5 the least; null clears it.",
    )
    target_date = models.DateField(null=True, blank=True, help_text="The day it is to be reached by; null clears it.")
    measurement_criteria = models.TextField(
        blank=True, default="", max_length=5_000, help_text="How one tells that it is reached; null clears it."
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.goal.list and .search: the newest goals of a project, page by page.
            models.Index(
                fields=["project", "-created_at", "-id"], condition=Q(deleted_at=None), name="goal_newest_in_project"
            ),
        ]
        constraints = [
            # A goal that cannot be named cannot be picked from a list.
            rules.not_empty("name", name="goal_name_given"),
            # Type keys of other kinds would be found by nobody who looks for goals.
            rules.typed("goal.", name="goal_type_key_of_goal"),
            # A state outside the enum would be in no filter.
            rules.one_of("state_key", GoalState, name="goal_state_known"),
            # The scale has five steps; a sixth would sort outside everything people and models are told.
            rules.urgency("priority", name="goal_priority_in_range"),
            # "Achieved when?" has an answer for every goal that is achieved, and for no other.
            rules.stamped("completed_at", state=GoalState.ACHIEVED, name="goal_completed_at_while_achieved"),
        ]

    def __str__(self) -> str:
        return self.name
