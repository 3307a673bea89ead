"""What all entities of the workspace have in common: their columns and the filters of who sees them."""

import json
import uuid
from typing import Any, Self, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F
from django.utils import timezone

from workspace.models.membership import CHANGING_ROLES, member

LARGEST_INTEGER = 2**53 - 1  # what a JSON integer can be, see RFC 7493 section 2.2

Row = TypeVar("Row", bound=models.Model, covariant=True)


class AsSent(json.JSONDecoder):
    """Reads numbers as they were sent: PostgreSQL gives the float 1e20 back as an integer no JSON writer takes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(parse_int=_number, **options)


def _number(digits: str) -> int | float:
    number = int(digits)
    return number if abs(number) <= LARGEST_INTEGER else float(digits)


class EntityQuerySet(models.QuerySet[Row]):
    """Rows that lie in a project."""

    to_project = "project__"  # the path from the row to its project, as lookups write it

    def alive(self) -> Self:
        """Leave out what is deleted, and what lies in a deleted project."""
        return self.filter(**{"deleted_at": None, f"{self.to_project}deleted_at": None})

    def visible_to(self, subject: str) -> Self:
        """Keep what a subject can see; each row tells that subject's role as `subject_role`."""
        seen = self.alive().filter(member(subject=subject, to_project=self.to_project))
        return seen.annotate(subject_role=F(f"{self.to_project}memberships__role"))

    def changeable_by(self, subject: str) -> Self:
        """Keep what a subject may change."""
        return self.alive().filter(member(subject=subject, to_project=self.to_project, roles=CHANGING_ROLES))

    def with_context(self) -> Self:
        """Add what a row says beyond its own columns."""
        return self.annotate(project_name=F(f"{self.to_project}name"))


class Entity(models.Model):
    """A row that subjects make, read and change. Times come from the request; deleting is soft."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    description = models.TextField(
        blank=True, default="", max_length=20_000, help_text="Text of any length up to the limit; null clears it."
    )
    props = models.JSONField(
        blank=True,
        default=dict,
        decoder=AsSent,
        help_text="Extra fields; an update merges its keys, and null removes a key.",
    )
    created_by = models.CharField(max_length=200, editable=False, help_text="The subject who made the row.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    state_key: Any  # each kind's own column with its own choices
    subject_role: str  # set by visible_to()

    class Meta:
        abstract = True

    def clean(self) -> None:
        """Refuse props that are no object: SQL has no portable rule for that, and an update merges keys into them."""
        if not isinstance(self.props, dict):
            raise ValidationError({"props": 'Send a JSON object, such as {"channel": "web"}.'})
