"""Requirements."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import check_constraints
from workspace.models.entity import Entity, EntityQuerySet


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
            MinValueValidator(check_constraints.HIGHEST_PRIORITY),
            MaxValueValidator(check_constraints.LOWEST_PRIORITY),
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
            check_constraints.require_text("text", name="requirement_text_given"),
            # With another prefix, no filter for requirement types would find the row.
            check_constraints.require_type_prefix("requirement.", name="requirement_type_key_of_kind"),
            # The documented scale has five steps.
            check_constraints.require_priority_range("priority", name="requirement_priority_in_range"),
        ]

    def __str__(self) -> str:
        return self.text
