"""Pins: ops that a surface shows as tools of their own."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from registry.models.fields import validate_text_list

ANY = "*"

_word_or_any_validator = RegexValidator(
    r"\A(\*|[a-z][a-z0-9_]*)\Z", "A lower-case word such as project, or * for all others."
)


class Pin(models.Model):
    """The ops that a surface shows as typed tools in one context to one family of models, within a token budget."""

    class Surface(models.TextChoices):
        HYBRID = "hybrid", "hybrid"
        DISCOVERY = "discovery", "discovery"

    surface = models.CharField(max_length=20, choices=Surface, help_text="The surface that shows them.")
    context = models.CharField(
        max_length=60,
        default=ANY,
        validators=[_word_or_any_validator],
        help_text="What the user looks at, such as project; * for every context that has no pins of its own.",
    )
    model_family = models.CharField(
        max_length=40,
        default=ANY,
        validators=[_word_or_any_validator],
        help_text="Such as gpt, claude or gemini; * for every family that has no pins of its own.",
    )
    ops = models.JSONField(
        default=list,
        blank=True,
        validators=[validate_text_list],
        help_text="Paths of ops in order, the most useful ones first. Empty: nothing is pinned here.",
    )
    max_tokens = models.PositiveIntegerField(
        default=2_000,
        validators=[MinValueValidator(50), MaxValueValidator(100_000)],
        help_text="Tokens for their definitions together. Ops that do not fit are left out.",
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["surface", "context", "model_family"]
        constraints = [
            # Two rows could not both decide what one model is shown.
            models.UniqueConstraint(fields=["surface", "context", "model_family"], name="pin_place_unique"),
            models.CheckConstraint(condition=Q(surface__in=["hybrid", "discovery"]), name="pin_surface_known"),
            models.CheckConstraint(condition=Q(max_tokens__range=(50, 100_000)), name="pin_budget_in_range"),
        ]

    def __str__(self) -> str:
        return f"{self.surface}, {self.context}, {self.model_family}"
