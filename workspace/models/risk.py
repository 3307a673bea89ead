"""Risks and requirements of a project."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import base
from workspace.models.base import Entity, EntityQuerySet


class RiskState(models.TextChoices):
    """The state of a risk."""

    IDENTIFIED = "identified", "identified"
    MITIGATED = "mitigated", "mitigated"
    OCCURRED = "occurred", "occurred"
    CLOSED = "closed", "closed"


class RiskImpact(models.TextChoices):
    """The severity of a risk if it occurs."""

    LOW = "low", "low"
    MEDIUM = "medium", "medium"
    HIGH = "high", "high"
    CRITICAL = "critical", "critical"


class Risk(Entity):
    """Something that may go wrong in a project."""

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="risks",
        db_index=False,  # the index below begins with it
        help_text="The project that the risk belongs to.",
    )
    title = models.CharField(max_length=300, help_text="What may go wrong, in a few words.")
    type_key = models.CharField(
        "type",
        max_length=100,
        default="risk.default",
        validators=[RegexValidator(r"^risk\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The type of risk: risk.<kind> or risk.<kind>.<variant>.",
    )
    state_key = models.CharField(
        "state",
        max_length=20,
        choices=RiskState,
        default=RiskState.IDENTIFIED.value,
        help_text="State of the risk; entering mitigated sets mitigated_at, leaving it clears mitigated_at.",
    )
    impact = models.CharField(
        max_length=10,
        choices=RiskImpact,
        default=RiskImpact.MEDIUM.value,
        help_text="Severity if the risk occurs, from low to critical.",
    )
    probability = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Likelihood, from 0 (never) to 1 (certain); null clears it.",
    )
    content = models.TextField(
        blank=True, default="", max_length=20_000, help_text="The response to the risk, in Markdown; null clears it."
    )
    mitigated_at = models.DateTimeField(null=True, blank=True, editable=False)

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.risk.list and .search: pages of a project's risks, newest update first.
            models.Index(
                fields=["project", "-updated_at", "-id"], condition=Q(deleted_at=None), name="risk_page_in_project"
            ),
        ]
        constraints = [
            # Without a title a risk cannot be identified in a list.
            base.require_text("title", name="risk_title_given"),
            # With another prefix, no filter for risk types would find the row.
            base.require_type_prefix("risk.", name="risk_type_key_of_risk"),
            # No filter would find a state or an impact outside the enum.
            base.require_choice("state_key", RiskState, name="risk_state_known"),
            base.require_choice("impact", RiskImpact, name="risk_impact_known"),
            # A probability is between 0 and 1.
            models.CheckConstraint(
                condition=Q(probability=None) | Q(probability__range=(0, 1)),
                name="risk_probability_in_range",
                violation_error_message="probability must be between 0 (never) and 1 (certain).",
            ),
            # mitigated_at is set for every mitigated risk and for no other.
            base.require_stamp("mitigated_at", state=RiskState.MITIGATED, name="risk_mitigated_at_while_mitigated"),
        ]

    def __str__(self) -> str:
        return self.title


class Requirement(Entity):
    """A requirement on a project's result: a single text without a state."""

    description = None  # type: ignore[assignment]  # removes the inherited column

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="requirements",
        db_index=False,  # the index below begins with it
        help_text="The project that the requirement belongs to.",
    )
    text = models.CharField(max_length=1_000, help_text="What the result must be or do, in one sentence.")
    type_key = models.CharField(
        "type",
        max_length=100,
        default="requirement.default",
        validators=[RegexValidator(r"^requirement\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The type of requirement: requirement.<kind> or requirement.<kind>.<variant>.",
    )
    priority = models.SmallIntegerField(
        default=3,
        validators=[
            MinValueValidator(base.HIGHEST_PRIORITY),
            MaxValueValidator(base.LOWEST_PRIORITY),
        ],
        help_text="1 (most urgent) to 5 (least urgent).",
    )

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.requirement.list and .search: pages of a project's requirements, newest first.
            models.Index(
                fields=["project", "-created_at", "-id"],
                condition=Q(deleted_at=None),
                name="requirement_newest_in_project",
            ),
        ]
        constraints = [
            # An empty requirement has no meaning.
            base.require_text("text", name="requirement_text_given"),
            # With another prefix, no filter for requirement types would find the row.
            base.require_type_prefix("requirement.", name="requirement_type_key_of_kind"),
            # The documented scale has five steps.
            base.require_priority_range("priority", name="requirement_priority_in_range"),
        ]

    def __str__(self) -> str:
        return self.text
