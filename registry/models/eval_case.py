"""Eval cases: requests in the words of users, each with the op that should be found."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from core.text import english
from registry.jsonschema import schema_check, validator
from registry.models.fields import path_validator, validate_text_list
from registry.models.op import Op

MAX_REQUEST_LENGTH = 500  # characters
MAX_NAME_LENGTH = 200  # characters of a request that are used as the name of the case


class EvalCase(models.Model):
    """A request, and the op that a search for it should show first. Part of no release.

    It names ops by path, because it also runs on releases with ops that the draft lacks.
    """

    class Set(models.TextChoices):
        TUNED = "tuned", "tuned"  # copy may be written with these cases at hand
        HELD_BACK = "held_back", "held back"  # and not with these: they show whether it helps with other requests

    request = models.CharField(
        max_length=MAX_REQUEST_LENGTH, unique=True, help_text="What a user says, in the user's own words."
    )
    op = models.CharField(
        max_length=200, validators=[path_validator], help_text="Path of the op that should be found first."
    )
    also_accepted = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="Paths of other ops that are as good."
    )
    args = models.JSONField(
        null=True,
        blank=True,
        help_text="The args of the right call, if they matter. Searches do not use them.",
    )
    case_set = models.CharField(
        "set",
        max_length=10,
        choices=Set,
        default=Set.TUNED,
        help_text="Tuned: copy may be written with this case in mind. Held back: it may not, so that the case shows"
        " whether a change also helps with requests that nobody thought of.",
    )
    tags = models.JSONField(
        default=list, blank=True, validators=[validate_text_list], help_text="Words to filter by, such as terse."
    )
    note = models.CharField(max_length=500, blank=True, help_text="Where the case comes from, or why it matters.")
    is_active = models.BooleanField("active", default=True, help_text="Only active cases are run.")
    shipped = models.JSONField(null=True, blank=True, editable=False, help_text="The entry as last shipped.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "eval case"
        ordering = ["op", "request"]
        constraints = [
            # A search for nothing finds nothing.
            models.CheckConstraint(condition=Q(request__length__gt=0), name="eval_case_request_not_empty"),
            models.CheckConstraint(condition=Q(case_set__in=["tuned", "held_back"]), name="eval_case_set_known"),
        ]

    def __str__(self) -> str:
        return self.request[:MAX_NAME_LENGTH]

    @property
    def accepted_ops(self) -> tuple[str, ...]:
        """The paths of all ops that are right, the expected one first."""
        return (self.op, *self.also_accepted)

    def clean(self) -> None:
        """Refuse ops that do not exist, and args that the expected op does not take."""
        errors: dict[str, str] = {}
        self.request = " ".join(self.request.split())
        if self.op and (problem := _explain_unknown([self.op])):
            errors["op"] = problem
        also: Any = self.also_accepted
        if isinstance(also, list) and (problem := _explain_unknown([path for path in also if isinstance(path, str)])):
            errors["also_accepted"] = problem
        if (
            self.op
            and self.args is not None
            and "op" not in errors
            and (problem := _explain_invalid_args(self.op, self.args))
        ):
            errors["args"] = problem
        if errors:
            raise ValidationError(errors)


def _explain_unknown(paths: list[str]) -> str:
    """Return a sentence about the first path that is not an op of the draft; empty if all are."""
    known = set(Op.objects.filter(op__in=paths).values_list("op", flat=True))
    unknown = next((path for path in paths if path not in known), None)
    if unknown is None:
        return ""
    close_names = english.find_similar(unknown, Op.objects.values_list("op", flat=True))
    hint = f" Did you mean {', '.join(close_names)}?" if close_names else ""
    return f"There is no op {unknown}.{hint}"


def _explain_invalid_args(path: str, args: object) -> str:
    """Return why the draft's op does not take these args; empty if it does, or if its schema is broken."""
    op = Op.objects.get(op=path)
    if schema_check.find_problems(op.parameters_schema):
        return ""  # the op's own page reports that
    problems = validator.find_instance_problems(op.parameters_schema, args, ignoring=op.display_only)
    return f"{path} does not take these args. {' '.join(problems[:3])}" if problems else ""
