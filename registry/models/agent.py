"""Agents: roles that a model can take for one task, with fewer ops and a prompt of their own."""

from django.db import models
from django.db.models import Q

from registry.models.fields import validate_text_list, word_validator


class Agent(models.Model):
    """A role for one task: which ops it may run, when to use it, and its system prompt."""

    class Status(models.TextChoices):
        ACTIVE = "active", "active"
        RETIRED = "retired", "retired"

    name = models.CharField(
        max_length=60, unique=True, validators=[word_validator], help_text="Its name in calls, such as explorer."
    )
    summary = models.CharField(max_length=200, help_text="One line, at most 12 words, read when agents are listed.")
    description = models.TextField(max_length=2000, blank=True, help_text="What it does and what it returns.")
    when_to_use = models.TextField(max_length=2000, blank=True, help_text="The tasks that should go to it.")
    ops = models.JSONField(
        default=list,
        validators=[validate_text_list],
        help_text="Paths of the ops that it may run; * stands for any characters, as in onto.*.",
    )
    is_read_only = models.BooleanField("read-only", default=True, help_text="It runs only the reads among these ops.")
    constraints = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="What it must not do, one sentence each."
    )
    system_prompt = models.TextField(max_length=8000, help_text="Sent to the model that plays the agent.")
    examples = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="Tasks that it does well."
    )
    edge_cases = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="What it does in unusual cases."
    )
    status = models.CharField(
        max_length=10, choices=Status, default=Status.ACTIVE, help_text="Nobody can run a retired agent."
    )
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            # A list item without a summary tells a model nothing, and an agent without a prompt cannot run.
            models.CheckConstraint(
                condition=Q(summary__length__gt=0, system_prompt__length__gt=0), name="agent_not_empty"
            ),
            models.CheckConstraint(condition=Q(status__in=["active", "retired"]), name="agent_status_known"),
        ]

    def __str__(self) -> str:
        return self.name
