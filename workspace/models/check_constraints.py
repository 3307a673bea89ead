"""Named constraints that several models share, each with an error message for the admin."""

from django.db import models
from django.db.models import F, Q

HIGHEST_PRIORITY, LOWEST_PRIORITY = 1, 5


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
