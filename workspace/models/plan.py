"""Plans: the phases of a project."""

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import check_constraints
from workspace.models.entity import Entity, EntityQuerySet


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
            check_constraints.require_text("name", name="plan_name_given"),
            # With another prefix, no filter for plan types would find the row.
            check_constraints.require_type_prefix("plan.", name="plan_type_key_of_plan"),
            # No filter would find a state outside the enum.
            check_constraints.require_choice("state_key", PlanState, name="plan_state_known"),
            # A phase cannot end before it begins.
            check_constraints.require_order("start_date", "end_date", name="plan_end_not_before_start"),
            # completed_at is set for every completed plan and for no other.
            check_constraints.require_stamp(
                "completed_at", state=PlanState.COMPLETED, name="plan_completed_at_while_completed"
            ),
        ]

    def __str__(self) -> str:
        return self.name
