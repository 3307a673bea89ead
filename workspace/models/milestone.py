"""Milestones."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import check_constraints
from workspace.models.entity import Entity, EntityQuerySet


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
            check_constraints.require_text("title", name="milestone_title_given"),
            # With another prefix, no filter for milestone types would find the row.
            check_constraints.require_type_prefix("milestone.", name="milestone_type_key_of_kind"),
            # No filter would find a state outside the enum.
            check_constraints.require_choice("state_key", MilestoneState, name="milestone_state_known"),
            # completed_at is set for every completed milestone and for no other.
            check_constraints.require_stamp(
                "completed_at", state=MilestoneState.COMPLETED, name="milestone_stamped_while_completed"
            ),
        ]

    def __str__(self) -> str:
        return self.title
