"""Base model and queryset of all workspace entities: shared columns and access filters."""

import json
import uuid
from typing import Any, Self, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F
from django.utils import timezone

from workspace.models.membership import EDITING_ROLES, filter_by_member

MAX_INTEGER = 2**53 - 1  # largest integer that JSON readers handle exactly, RFC 7493 section 2.2

Row = TypeVar("Row", bound=models.Model, covariant=True)


class AsSent(json.JSONDecoder):
    """Decoder that restores floats: PostgreSQL returns the float 1e20 as an integer that JSON writers refuse."""

    def __init__(self, **options: Any) -> None:
        super().__init__(parse_int=_parse_number, **options)


def _parse_number(digits: str) -> int | float:
    number = int(digits)
    return number if abs(number) <= MAX_INTEGER else float(digits)


class EntityQuerySet(models.QuerySet[Row]):
    """Rows that belong to a project."""

    to_project = "project__"  # lookup path from the row to its project

    def alive(self) -> Self:
        """Exclude deleted rows and rows of a deleted project."""
        return self.filter(**{"deleted_at": None, f"{self.to_project}deleted_at": None})

    def visible_to(self, subject: str) -> Self:
        """Filter to the rows that a subject can see, annotated with its role as `subject_role`."""
        visible = self.alive().filter(filter_by_member(subject=subject, to_project=self.to_project))
        return visible.annotate(subject_role=F(f"{self.to_project}memberships__role"))

    def changeable_by(self, subject: str) -> Self:
        """Filter to the rows that a subject may change."""
        return self.alive().filter(filter_by_member(subject=subject, to_project=self.to_project, roles=EDITING_ROLES))

    def with_context(self) -> Self:
        """Annotate the values that results need beyond the row's own columns."""
        return self.annotate(project_name=F(f"{self.to_project}name"))


class Entity(models.Model):
    """Base of the rows that subjects create, read and change. Times come from the request; deletes are soft."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    description = models.TextField(blank=True, default="", max_length=20_000, help_text="Free text; null clears it.")
    props = models.JSONField(
        blank=True,
        default=dict,
        decoder=AsSent,
        help_text="Extra fields; an update merges its keys, and null removes a key.",
    )
    created_by = models.CharField(max_length=200, editable=False, help_text="The subject who created the row.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    state_key: Any  # a column of the subclass, with its own choices
    subject_role: str  # set by visible_to()

    class Meta:
        abstract = True

    def clean(self) -> None:
        """Require that props is a JSON object: updates merge keys, and SQL has no portable constraint."""
        if not isinstance(self.props, dict):
            raise ValidationError({"props": 'Enter a JSON object, such as {"channel": "web"}.'})
