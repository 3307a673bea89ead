"""Rules that several models share, as named constraints with a sentence for the person in the admin."""

from django.db import models
from django.db.models import F, Q

MOST_URGENT, LEAST_URGENT = 1, 5


def one_of(field: str, choices: type[models.TextChoices], *, name: str) -> models.CheckConstraint:
    """The field holds one of the choices."""
    known = ", ".join(choices.values)
    return models.CheckConstraint(
        condition=Q((f"{field}__in", choices.values)), name=name, violation_error_message=f"{field} is one of {known}."
    )


def not_empty(field: str, *, name: str) -> models.CheckConstraint:
    """The text is not the empty string."""
    return models.CheckConstraint(
        condition=~Q((field, "")), name=name, violation_error_message=f"{field} must not be empty."
    )


def typed(prefix: str, *, name: str) -> models.CheckConstraint:
    """The type key is of this kind of row. Its whole pattern is checked where it comes in: SQL has no portable one."""
    return models.CheckConstraint(
        condition=Q(type_key__startswith=prefix),
        name=name,
        violation_error_message=f"type_key starts with {prefix}",
    )


def in_order(start: str, end: str, *, name: str) -> models.CheckConstraint:
    """Where both times stand, the end is not before the start."""
    return models.CheckConstraint(
        condition=Q((start, None)) | Q((end, None)) | Q((f"{end}__gte", F(start))),
        name=name,
        violation_error_message=f"{end} must not be before {start}.",
    )


def stamped(field: str, *, state: str, name: str) -> models.CheckConstraint:
    """The time is set exactly while the row is in the state."""
    return models.CheckConstraint(
        condition=Q((f"{field}__isnull", False), state_key=state) | (Q((field, None)) & ~Q(state_key=state)),
        name=name,
        violation_error_message=f"{field} is set exactly while state_key is {state}.",
    )


def urgency(field: str, *, name: str) -> models.CheckConstraint:
    """The priority, where there is one, is on the scale of five steps."""
    return models.CheckConstraint(
        condition=Q((field, None)) | Q((f"{field}__range", (MOST_URGENT, LEAST_URGENT))),
        name=name,
        violation_error_message=f"{field} is {MOST_URGENT} (the most urgent) to {LEAST_URGENT}.",
    )
