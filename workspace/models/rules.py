"""Named constraints that several models share, each with an error message for the admin."""

from django.db import models
from django.db.models import F, Q

MOST_URGENT, LEAST_URGENT = 1, 5


def one_of(field: str, choices: type[models.TextChoices], *, name: str) -> models.CheckConstraint:
    """Return a constraint that the field has one of the choices."""
    known = ", ".join(choices.values)
    return models.CheckConstraint(
        condition=Q((f"{field}__in", choices.values)),
        name=name,
        violation_error_message=f"{field} must be one of {known}.",
    )


def not_empty(field: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that the text is not empty."""
    return models.CheckConstraint(
        condition=~Q((field, "")), name=name, violation_error_message=f"{field} must not be empty."
    )


def typed(prefix: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint on the prefix of type_key. Validators check the pattern: SQL has no portable regex."""
    return models.CheckConstraint(
        condition=Q(type_key__startswith=prefix),
        name=name,
        violation_error_message=f"type_key must start with {prefix}",
    )


def in_order(start: str, end: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that the end is not before the start, if both are set."""
    return models.CheckConstraint(
        condition=Q((start, None)) | Q((end, None)) | Q((f"{end}__gte", F(start))),
        name=name,
        violation_error_message=f"{end} must not be before {start}.",
    )


def stamped(field: str, *, state: str, name: str) -> models.CheckConstraint:
    """Return a constraint that the time is set if and only if the row is in the state."""
    return models.CheckConstraint(
        condition=Q((f"{field}__isnull", False), state_key=state) | (Q((field, None)) & ~Q(state_key=state)),
        name=name,
        violation_error_message=f"{field} must be set if state_key is {state}, and empty otherwise.",
    )


def urgency(field: str, *, name: str) -> models.CheckConstraint:
    """Return a constraint that the priority, if set, is between 1 and 5."""
    return models.CheckConstraint(
        condition=Q((field, None)) | Q((f"{field}__range", (MOST_URGENT, LEAST_URGENT))),
        name=name,
        violation_error_message=f"{field} must be between {MOST_URGENT} (most urgent) and {LEAST_URGENT}.",
    )
