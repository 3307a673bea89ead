"""Copy of an op in separate rows (policy rules, examples), and vectors of op texts."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from core.background.leases import LeasedRow
from registry.jsonschema import schema_check, validator
from registry.models.op import Op


class PolicyRule(models.Model):
    """One rule of an op's policy: something to do, something not to do, or an edge case."""

    class Kind(models.TextChoices):
        DO = "do", "do"
        DONT = "dont", "dont"
        EDGE_CASE = "edge_case", "edge case"

    op = models.ForeignKey(Op, on_delete=models.CASCADE, related_name="rules")
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.CharField(max_length=300)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["kind", "position", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(kind__in=["do", "dont", "edge_case"]), name="rule_kind_known"),
            models.CheckConstraint(condition=Q(text__length__gt=0), name="rule_text_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class Example(models.Model):
    """One working call, shown in help."""

    op = models.ForeignKey(Op, on_delete=models.CASCADE, related_name="examples")
    title = models.CharField(max_length=100, blank=True)
    args = models.JSONField(default=dict, blank=True)
    note = models.CharField(max_length=300, blank=True)
    position = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["position", "id"]

    def __str__(self) -> str:
        return self.title or f"example {self.position}"

    def clean(self) -> None:
        """Refuse args that the op's schema does not allow."""
        if self.op_id is None or schema_check.find_problems(self.op.parameters_schema):
            return  # no valid schema to check against; the op's own form reports that
        problems = validator.find_instance_problems(self.op.parameters_schema, self.args, ignoring=self.op.display_only)
        if problems:
            raise ValidationError({"args": problems})


class OpEmbedding(LeasedRow):
    """The vector of one text from one model. Without a vector it waits to be sent, unless the endpoint refused it."""

    text_hash = models.CharField(
        max_length=64, primary_key=True, help_text="SHA-256 of the endpoint's address, the model's name and the text."
    )
    text = models.TextField(help_text="Empty once the vector is there.")
    vector = models.BinaryField(null=True, help_text="Unit vector as float16 numbers, little-endian.")
    # A vector keeps its time: the newest shows what size of vectors the endpoint gives.
    held_until = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        db_column="claimed_at",
        help_text="Until when no other process sends the text.",
    )
    refused_at = models.DateTimeField(
        null=True, help_text="When the endpoint refused the text. It is sent again in a week."
    )
    used_at = models.DateTimeField(db_index=True, help_text="When a process last loaded it, to the day.")

    class Meta:
        ordering = ["-used_at", "text_hash"]

    def __str__(self) -> str:
        return self.text_hash[:12]
