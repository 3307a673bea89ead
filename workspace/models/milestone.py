"""Milestones."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet


class MilestoneState(models.TextChoices):
    """Where a milestone stands."""

    PENDING = "pending", "pending"
    IN_PROGRESS = "in_progress", "in progress"
    COMPLETED = "completed", "completed"
    MISSED = "missed", "missed"


def is_missed(row: Mapping[str, Any], at: datetime) -> bool:
    """Whether a milestone with these columns has been missed: someone said so, or its time passed before work began.

    Time passes without an update, so no column can hold it.
    """
    if row["state_key"] == MilestoneState.PENDING:
        return row["due_at"] is not None and row["due_at"] < at
    return bool(row["state_key"] == MilestoneState.MISSED)


class Milestone(Entity):
    """A moment by which something is to be there."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="milestones",
        db_index=False,  # the index below begins with it
        help_text="The project that the milestone belongs to.",
    )
    title = models.CharField(max_length=300, help_text="What is there when it is reached.")
    type_key = models.CharField(
        max_length=100,
        default="milestone.default",
        validators=[RegexValidator(r"^milestone\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The kind of milestone: milestone.<kind> or milestone.<kind>.<variant>.",
    )
    state_key = models.CharField(
        max_length=20,
        choices=MilestoneState,
        default=MilestoneState.PENDING.value,
        help_text="Where the milestone stands; becoming completed stamps completed_at, leaving completed clears it.",
    )
    due_at = models.DateTimeField(null=True, blank=True, help_text="When it is to be reached; null clears it.")
    completed_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.milestone.list and .search, in a project.
            models.Index(fields=["project", "due_at", "id"], condition=Q(deleted_at=None), name="milestone_in_project"),
        ]
        constraints = [
            # A milestone that cannot be named cannot be picked from a list.
            rules.not_empty("title", name="milestone_title_given"),
            # Type keys of other kinds would be found by nobody who looks for milestones.
            rules.typed("milestone.", name="milestone_type_key_of_kind"),
            # A state outside the enum would be in no filter.
            rules.one_of("state_key", MilestoneState, name="milestone_state_known"),
            # "Reached when?" has an answer for every milestone that is completed, and for no other.
            rules.stamped("completed_at", state=MilestoneState.COMPLETED, name="milestone_stamped_while_completed"),
        ]

    def __str__(self) -> str:
        return self.title
