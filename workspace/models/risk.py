"""Risks."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import check_constraints
from workspace.models.entity import Entity, EntityQuerySet


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
            check_constraints.require_text("title", name="risk_title_given"),
            # With another prefix, no filter for risk types would find the row.
            check_constraints.require_type_prefix("risk.", name="risk_type_key_of_risk"),
            # No filter would find a state or an impact outside the enum.
            check_constraints.require_choice("state_key", RiskState, name="risk_state_known"),
            check_constraints.require_choice("impact", RiskImpact, name="risk_impact_known"),
            # A probability is between 0 and 1.
            models.CheckConstraint(
                condition=Q(probability=None) | Q(probability__range=(0, 1)),
                name="risk_probability_in_range",
                violation_error_message="probability must be between 0 (never) and 1 (certain).",
            ),
            # mitigated_at is set for every mitigated risk and for no other.
            check_constraints.require_stamp(
                "mitigated_at", state=RiskState.MITIGATED, name="risk_mitigated_at_while_mitigated"
            ),
        ]

    def __str__(self) -> str:
        return self.title
