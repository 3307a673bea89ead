"""What rows of all kinds have: ids, times, tags, memberships, and constraints of the database."""

import json
import uuid
from typing import Any, Self, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from workspace.models.journal import JournaledModel, JournaledQuerySet

MAX_TAGS = 20
MAX_TAG_LENGTH = 50  # characters of one tag
HIGHEST_PRIORITY, LOWEST_PRIORITY = 1, 5
MAX_INTEGER = 2**53 - 1  # largest integer that JSON readers handle exactly, RFC 7493 section 2.2
Row = TypeVar("Row", bound=models.Model, covariant=True)


class TagsField(models.TextField):  # type: ignore[type-arg]  # Django's class is not generic at run time
    """A list of str, stored as lines. Lookups such as icontains match the stored text."""

    def from_db_value(self, value: str | None, *_: Any) -> list[str]:
        """Return the stored lines as a list."""
        return value.split("\n") if value else []

    def to_python(self, value: Any) -> list[str]:
        """Return the text of an admin form, one tag per line, as a list."""
        lines = value.split("\n") if isinstance(value, str) else value or []
        return [line.strip() for line in lines if line.strip()]

    def get_prep_value(self, value: Any) -> str:
        """Return the list as text, one tag per line."""
        return value if isinstance(value, str) else "\n".join(value or [])

    def value_from_object(self, obj: models.Model) -> str:
        """Return the text for an admin form."""
        return self.get_prep_value(super().value_from_object(obj))

    def value_to_string(self, obj: models.Model) -> str:
        """Return the text for serializers."""
        return self.value_from_object(obj)

    def validate(self, value: Any, model_instance: models.Model | None) -> None:
        """Raise ValidationError for too many tags, and for tags that are too long or span several lines."""
        super().validate(value, model_instance)
        if len(value) > MAX_TAGS or any(len(tag) > MAX_TAG_LENGTH or "\n" in tag for tag in value):
            raise ValidationError(
                f"Send at most {MAX_TAGS} tags, each on one line and up to {MAX_TAG_LENGTH} characters."
            )


def require_choice(field: str, choices: type[models.TextChoices], *, name: str) -> models.CheckConstraint:
    """Return a constraint that the field has one of the choices."""
    allowed = ", ".join(choices.values)
    return models.CheckConstraint(
        condition=Q((f"{field}__in", choices.values)),
        name=name,
        violation_error_message=f"{field} must be one of {allowed}.",
    )


def require_text(field: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that the text is not empty."""
    return models.CheckConstraint(
        condition=~Q((field, "")), name=name, violation_error_message=f"{field} must not be empty."
    )


def require_type_prefix(prefix: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint on the prefix of type_key. Validators check the pattern: SQL has no portable regex."""
    return models.CheckConstraint(
        condition=Q(type_key__startswith=prefix),
        name=name,
        violation_error_message=f"type_key must start with {prefix}",
    )


def require_order(start: str, end: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that the end is not before the start, if both are set."""
    return models.CheckConstraint(
        condition=Q((start, None)) | Q((end, None)) | Q((f"{end}__gte", F(start))),
        name=name,
        violation_error_message=f"{end} must not be before {start}.",
    )


def require_stamp(field: str, *, state: str, name: str) -> models.CheckConstraint:
    """Return a constraint that the time is set if and only if the row is in the state."""
    return models.CheckConstraint(
        condition=Q((f"{field}__isnull", False), state_key=state) | (Q((field, None)) & ~Q(state_key=state)),
        name=name,
        violation_error_message=f"{field} must be set if state_key is {state}, and empty otherwise.",
    )


def require_priority_range(field: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that the priority, if set, is between 1 and 5."""
    return models.CheckConstraint(
        condition=Q((field, None)) | Q((f"{field}__range", (HIGHEST_PRIORITY, LOWEST_PRIORITY))),
        name=name,
        violation_error_message=f"{field} must be between {HIGHEST_PRIORITY} (most urgent) and {LOWEST_PRIORITY}.",
    )


class MemberRole(models.TextChoices):
    """The role of a member in a project. workspace.services.access decides what each role can do."""

    OWNER = "owner", "owner"
    EDITOR = "editor", "editor"
    VIEWER = "viewer", "viewer"


EDITING_ROLES = (MemberRole.OWNER, MemberRole.EDITOR)  # used by the policy and the filter, which must agree


class Membership(JournaledModel):
    """A subject's membership in a project. A subject is an opaque id from outside; there is no table of subjects.

    Each project and subject have at most one row: leaving sets `deleted_at`, and returning clears it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey("workspace.Project", on_delete=models.CASCADE, related_name="memberships")
    subject = models.CharField(max_length=200)
    role = models.CharField(max_length=10, choices=MemberRole, default=MemberRole.VIEWER)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            # Two rows for one subject would duplicate list rows and leave the role ambiguous. Subject first: every
            # list, search and get uses this index to find a subject's projects.
            models.UniqueConstraint(fields=["subject", "project"], name="membership_unique_subject"),
            # The policy covers only the known roles.
            require_choice("role", MemberRole, name="membership_role_known"),
            # A call without a subject must never match a member.
            require_text("subject", name="membership_subject_given"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} ({self.role})"


def filter_by_type(type_key: str) -> Q:
    """Return a filter for rows of a type, including its variants."""
    return Q(type_key=type_key) | Q(type_key__startswith=f"{type_key}.")


def filter_by_member(*, subject: str, to_project: str, roles: tuple[MemberRole, ...] = ()) -> Q:
    """Return a filter for rows whose project has the subject as a member, if given in one of the roles.

    `to_project` is the lookup path to the project. Pass the result to a single `filter()` call, so that all conditions
    apply to the same membership row.
    """
    prefix = f"{to_project}memberships__"
    condition = Q((f"{prefix}subject", subject), (f"{prefix}deleted_at", None))
    return condition & Q((f"{prefix}role__in", roles)) if roles else condition


class AsSent(json.JSONDecoder):
    """Decoder that restores floats: PostgreSQL returns the float 1e20 as an integer that JSON writers refuse."""

    def __init__(self, **options: Any) -> None:
        super().__init__(parse_int=_parse_number, **options)


def _parse_number(digits: str) -> int | float:
    number = int(digits)
    return number if abs(number) <= MAX_INTEGER else float(digits)


class EntityQuerySet(JournaledQuerySet[Row]):
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
        """Filter to the rows that a subject can change."""
        return self.alive().filter(filter_by_member(subject=subject, to_project=self.to_project, roles=EDITING_ROLES))

    def with_context(self) -> Self:
        """Annotate the values that results need beyond the row's own columns."""
        return self.annotate(project_name=F(f"{self.to_project}name"))


class Entity(JournaledModel):
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
