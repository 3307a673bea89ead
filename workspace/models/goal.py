"""Goals."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import check_constraints
from workspace.models.entity import Entity, EntityQuerySet


class GoalState(models.TextChoices):
    """The state of a goal."""

    DRAFT = "draft", "draft"
    ACTIVE = "active", "active"
    ACHIEVED = "achieved", "achieved"
    ABANDONED = "abandoned", "abandoned"


class Goal(Entity):
    """An outcome that a project should achieve."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="goals",
        db_index=False,  # the index below begins with it
        help_text="The project that the goal belongs to.",
    )
    name = models.CharField(max_length=200, help_text="The outcome to achieve, in a few words.")
    type_key = models.CharField(
        "type",
        max_length=100,
        default="goal.outcome.project",
        validators=[RegexValidator(r"^goal\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The type of goal: goal.<family> or goal.<family>.<variant>.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=GoalState,
        default=GoalState.DRAFT.value,
        help_text="State of the goal; entering achieved sets completed_at, leaving it clears completed_at.",
    )
    priority = models.SmallIntegerField(
        null=True,
        blank=True,
        validators=[
            MinValueValidator(check_constraints.HIGHEST_PRIORITY),
            MaxValueValidator(check_constraints.LOWEST_PRIORITY),
        ],
        help_text="1 (most urgent) to 5 (least urgent); null clears it.",
    )
    target_date = models.DateField(null=True, blank=True, help_text="The day to achieve the goal by; null clears it.")
    measurement_criteria = models.TextField(
        blank=True, default="", max_length=5_000, help_text="How to tell that the goal is achieved; null clears it."
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.goal.list and .search: pages of a project's goals, newest first.
            models.Index(
                fields=["project", "-created_at", "-id"], condition=Q(deleted_at=None), name="goal_newest_in_project"
            ),
        ]
        constraints = [
            # Without a name a goal cannot be identified in a list.
            check_constraints.require_text("name", name="goal_name_given"),
            # With another prefix, no filter for goal types would find the row.
            check_constraints.require_type_prefix("goal.", name="goal_type_key_of_goal"),
            # No filter would find a state outside the enum.
            check_constraints.require_choice("state_key", GoalState, name="goal_state_known"),
            # The documented scale has five steps.
            check_constraints.require_priority_range("priority", name="goal_priority_in_range"),
            # completed_at is set for every achieved goal and for no other.
            check_constraints.require_stamp(
                "completed_at", state=GoalState.ACHIEVED, name="goal_completed_at_while_achieved"
            ),
        ]

    def __str__(self) -> str:
        return self.name
