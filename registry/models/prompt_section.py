"""Sections of prompts."""

from django.db import models
from django.db.models import Q

from registry.models.fields import word_validator


class PromptSection(models.Model):
    """One section of a prompt: copy that belongs to no op. A prompt is its sections in order."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        RETIRED = "retired", "retired"

    prompt = models.CharField(
        max_length=60, validators=[word_validator], help_text="The prompt it belongs to, such as overview."
    )
    name = models.CharField(
        max_length=60, validators=[word_validator], help_text="Its name in requests. Unique within the prompt."
    )
    position = models.PositiveSmallIntegerField(default=0, help_text="Sections are sorted by position, lowest first.")
    title = models.CharField(max_length=200, help_text="Heading above the text.")
    text = models.TextField(max_length=8000, help_text="What the model reads, as plain text or Markdown.")
    status = models.CharField(
        max_length=10, choices=Status, default=Status.ACTIVE, help_text="Retired sections are not sent to models."
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["prompt", "position", "name"]
        constraints = [
            # A section is requested by its name.
            models.UniqueConstraint(fields=["prompt", "name"], name="section_name_unique_in_prompt"),
            # A heading without text, or text without a heading, tells a model nothing.
            models.CheckConstraint(condition=Q(title__length__gt=0, text__length__gt=0), name="section_not_empty"),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="section_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.prompt}, {self.name}"
