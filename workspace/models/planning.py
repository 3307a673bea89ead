"""Goals, plans and milestones of a project."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import base
from workspace.models.base import Entity, EntityQuerySet


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
            MinValueValidator(base.HIGHEST_PRIORITY),
            MaxValueValidator(base.LOWEST_PRIORITY),
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
            base.require_text("name", name="goal_name_given"),
            # With another prefix, no filter for goal types would find the row.
            base.require_type_prefix("goal.", name="goal_type_key_of_goal"),
            # No filter would find a state outside the enum.
            base.require_choice("state_key", GoalState, name="goal_state_known"),
            # The documented scale has five steps.
            base.require_priority_range("priority", name="goal_priority_in_range"),
            # completed_at is set for every achieved goal and for no other.
            base.require_stamp("completed_at", state=GoalState.ACHIEVED, name="goal_completed_at_while_achieved"),
        ]

    def __str__(self) -> str:
        return self.name


class PlanState(models.TextChoices):
    """The state of a plan."""

    DRAFT = "draft", "draft"
    ACTIVE = "active", "active"
    COMPLETED = "completed", "completed"


class Plan(Entity):
    """A phase of a project: its steps, their order and its dates."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="plans",
        db_index=False,  # the index below begins with it
        help_text="The project that the plan belongs to.",
    )
    name = models.CharField(max_length=200, help_text="Name of the phase.")
    type_key = models.CharField(
        "type",
        max_length=100,
        default="plan.phase.project",
        validators=[RegexValidator(r"^plan\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The type of plan: plan.<family> or plan.<family>.<variant>.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=PlanState,
        default=PlanState.DRAFT.value,
        help_text="State of the plan; entering completed sets completed_at, leaving it clears completed_at.",
    )
    plan = models.TextField(
        blank=True, default="", max_length=50_000, help_text="The steps, in Markdown; null clears them."
    )
    start_date = models.DateField(null=True, blank=True, help_text="First day of the phase; null clears it.")
    end_date = models.DateField(
        null=True, blank=True, help_text="Last day of the phase, not before start_date; null clears it."
    )
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.plan.list and .search, and has_phases of a project.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="plan_page_in_project"
            ),
        ]
        constraints = [
            # Without a name a plan cannot be identified in a list.
            base.require_text("name", name="plan_name_given"),
            # With another prefix, no filter for plan types would find the row.
            base.require_type_prefix("plan.", name="plan_type_key_of_plan"),
            # No filter would find a state outside the enum.
            base.require_choice("state_key", PlanState, name="plan_state_known"),
            # A phase cannot end before it begins.
            base.require_order("start_date", "end_date", name="plan_end_not_before_start"),
            # completed_at is set for every completed plan and for no other.
            base.require_stamp("completed_at", state=PlanState.COMPLETED, name="plan_completed_at_while_completed"),
        ]

    def __str__(self) -> str:
        return self.name


class MilestoneState(models.TextChoices):
    """The state of a milestone."""

    PENDING = "pending", "pending"
    IN_PROGRESS = "in_progress", "in progress"
    COMPLETED = "completed", "completed"
    MISSED = "missed", "missed"


def is_missed(row: Mapping[str, Any], at: datetime) -> bool:
    """Whether a milestone is missed: its state says so, or it is still pending after due_at.

    The result depends on the current time, so no column can store it.
    """
    if row["state_key"] == MilestoneState.PENDING:
        return row["due_at"] is not None and row["due_at"] < at
    return bool(row["state_key"] == MilestoneState.MISSED)


class Milestone(Entity):
    """A point in time by which something should be finished."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="milestones",
        db_index=False,  # the index below begins with it
        help_text="The project that the milestone belongs to.",
    )
    title = models.CharField(max_length=300, help_text="What is finished when the milestone is reached.")
    type_key = models.CharField(
        "type",
        max_length=100,
        default="milestone.default",
        validators=[RegexValidator(r"^milestone\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The type of milestone: milestone.<kind> or milestone.<kind>.<variant>.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=MilestoneState,
        default=MilestoneState.PENDING.value,
        help_text="State of the milestone; entering completed sets completed_at, leaving it clears completed_at.",
    )
    due_at = models.DateTimeField(null=True, blank=True, help_text="When the milestone is due; null clears it.")
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.milestone.list and .search, in a project.
            models.Index(fields=["project", "due_at", "id"], condition=Q(deleted_at=None), name="milestone_in_project"),
        ]
        constraints = [
            # Without a title a milestone cannot be identified in a list.
            base.require_text("title", name="milestone_title_given"),
            # With another prefix, no filter for milestone types would find the row.
            base.require_type_prefix("milestone.", name="milestone_type_key_of_kind"),
            # No filter would find a state outside the enum.
            base.require_choice("state_key", MilestoneState, name="milestone_state_known"),
            # completed_at is set for every completed milestone and for no other.
            base.require_stamp(
                "completed_at", state=MilestoneState.COMPLETED, name="milestone_stamped_while_completed"
            ),
        ]

    def __str__(self) -> str:
        return self.title
