"""Copy of an op that has rows of its own: policy rules and examples."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

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
