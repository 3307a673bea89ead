"""Requirements."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from workspace.models import rules
from workspace.models.entity import Entity, EntityQuerySet


class Requirement(Entity):
    """What a project's result must be or do. It says so in one text and has no state."""

    description = None  # type: ignore[assignment]  # how Django leaves a column of the base out

    project = models.ForeignKey(
        "workspace.Project",
        on_delete=models.CASCADE,
        related_name="requirements",
        db_index=False,  # the index below begins with it
        help_text="The project that the requirement belongs to.",
    )
    text = models.CharField(max_length=1_000, help_text="What the result must be or do, in one sentence.")
    type_key = models.CharField(
        max_length=100,
        default="requirement.default",
        validators=[RegexValidator(r"^requirement\.[a-z_]+(\.[a-z_]+)?$")],
        help_text="The kind of requirement: requirement.<kind> or requirement.<kind>.<variant>.",
    )
    priority = models.SmallIntegerField(
        default=3,
        validators=[MinValueValidator(rules.MOST_URGENT), MaxValueValidator(rules.LEAST_URGENT)],
        help_text="1 is the most urgent, 5 the least.",
    )

    project_name: str  # set by with_context()

    objects = EntityQuerySet.as_manager()

    class Meta:
        indexes = [
            # onto.requirement.list and .search: the newest requirements of a project, page by page.
            models.Index(
                fields=["project", "-created_at", "-id"],
                condition=Q(deleted_at=None),
                name="requirement_newest_in_project",
            ),
        ]
        constraints = [
            # A requirement without words asks for nothing.
            rules.not_empty("text", name="requirement_text_given"),
            # Type keys of other kinds would be found by nobody who looks for requirements.
            rules.typed("requirement.", name="requirement_type_key_of_kind"),
            # The scale has five steps; a sixth would sort outside everything people and models are told.
            rules.urgency("priority", name="requirement_priority_in_range"),
        ]

    def __str__(self) -> str:
        return self.text
