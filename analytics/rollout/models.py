"""Flags, cohorts with their rules and order, subjects, and the assignments of subjects."""

import math
from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models, transaction
from django.db.models import F, Max, Q
from django.utils.text import get_text_list

from analytics.flags import FLAGS, FlagKey
from analytics.rollout.evaluation import OPERATOR_LABELS, Attribute, Operator

MAX_LISTED = 1_000  # listed subjects per cohort; all processes keep them in memory
MAX_VALUES = 200  # values per rule
MAX_VALUE_LENGTH = 200  # per value, and per subject
_AUDITED_FIELDS = ("name", "position", "is_on", "is_guarded", "variant", "listed", "note")
cohort_name_validator = RegexValidator(
    r"\A[a-z0-9]+(?:-[a-z0-9]+)*\Z", "Use lower-case letters, digits and dashes, such as dev-team."
)


class Flag(models.Model):
    """The state of a declared flag. While it is off, everyone gets its default."""

    key = models.CharField(max_length=60, primary_key=True, choices=[(str(key), FLAGS[key].title) for key in FlagKey])
    is_on = models.BooleanField(
        "on", default=True, help_text="If off, everyone gets the default, and cohorts are ignored."
    )

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return FLAGS[FlagKey(self.key)].title if self.key in set(FlagKey) else self.key


class Cohort(models.Model):
    """A set of subjects and their variant. The first cohort of a flag that matches a subject decides."""

    name = models.CharField(
        max_length=40, unique=True, validators=[cohort_name_validator], help_text="Shown in events, such as dev-team."
    )
    flag = models.ForeignKey(Flag, on_delete=models.PROTECT, related_name="cohorts")
    position: "models.PositiveSmallIntegerField[int | None, int | None]" = models.PositiveSmallIntegerField(
        editable=False, help_text="The lowest is evaluated first. A new cohort comes last."
    )
    is_on = models.BooleanField("on", default=True)
    # A database default, because processes of the previous version insert rows without this column.
    is_guarded = models.BooleanField(
        "stop automatically",
        default=False,
        db_default=False,
        help_text="Stops the cohort if its calls clearly fail more often than all others. Checked every minute.",
    )
    variant = models.CharField(max_length=64, help_text="The variant for its users.")
    percentage = models.DecimalField(
        max_digits=5,
        decimal_places=2,
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
        help_text="Share of matching users not already in an earlier cohort. Raising it keeps those who are in.",
    )
    listed = models.JSONField(
        "always in", default=list, blank=True, help_text="Subjects in the cohort regardless of rules and percentage."
    )
    note = models.CharField(max_length=300, blank=True, help_text="What this cohort tests, and who asked for it.")
    salt = models.CharField(max_length=40, editable=False)
    # An arm of an experiment. Its arms have one salt, and each takes the buckets from its own first one on.
    experiment = models.ForeignKey(
        "analytics.Experiment", on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="arms"
    )
    weight = models.PositiveSmallIntegerField(
        default=1, db_default=1, editable=False, help_text="Its part of the experiment's share, beside the other arms."
    )
    first_bucket = models.PositiveSmallIntegerField(default=0, db_default=0, editable=False)

    class Meta:
        ordering = ["flag", "position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(percentage__gte=0, percentage__lte=100), name="cohort_percentage_in_range"
            ),
            models.CheckConstraint(condition=~Q(variant="") & ~Q(salt=""), name="cohort_serves_something"),
            # Two cohorts at the same place would decide in an order that no page shows.
            models.UniqueConstraint(fields=["flag", "position"], name="cohort_position_once"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        # The salt stays when the cohort is renamed, so that the same subjects stay in.
        self.salt = self.salt or self.name
        with transaction.atomic():
            if self.position is None:
                self.position = self._find_last_position() + 1
            super().save(*args, **kwargs)

    def _find_last_position(self) -> int:
        """Return the highest position of the flag's cohorts, -1 if it has none. Locks the flag until the end."""
        Flag.objects.select_for_update().get(pk=self.flag_id)
        last = Cohort.objects.filter(flag=self.flag_id).aggregate(last=Max("position"))["last"]
        return -1 if last is None else last

    def describe_members(self, *, is_first: bool = False) -> str:
        """Return who is in the cohort, in words. `is_first`: no other cohort of its flag comes before it."""
        parts = []
        if self.percentage:
            rules = " and ".join(str(rule) for rule in self.rules.all())
            share = f"{float(self.percentage):g}%" if self.percentage < 100 else "everyone"
            if rules:
                parts.append(f"{share} where {rules}")
            elif self.percentage < 100:
                parts.append(f"{share} of {'all' if is_first else 'the rest'}")
            else:
                parts.append("everyone" if is_first else "everyone else")
        if self.listed:
            parts.append(f"{len(self.listed):,} listed")
        return ", and ".join(parts) or "nobody"

    def list_audit_values(self) -> dict[str, Any]:
        """Return what the audit log compares of a saved cohort."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in _AUDITED_FIELDS}
        rules = [str(rule) for rule in self.rules.all()]
        return fields | {"flag": self.flag_id, "percentage": float(self.percentage), "rules": rules}

    def clean(self) -> None:
        """Raise ValidationError for a variant that the flag does not have, or an invalid list of subjects."""
        errors: dict[str, str] = {}
        if self.flag_id in set(FlagKey) and not FLAGS[FlagKey(self.flag_id)].accepts(self.variant):
            variants = get_text_list(list(FLAGS[FlagKey(self.flag_id)].variants), "or")
            more = ", or the version of a release (64 characters)" if self.flag_id == FlagKey.RELEASE else ""
            errors["variant"] = f"Set {self.flag} to {variants}{more}."
        if problem := _find_list_problem(self.listed, MAX_LISTED):
            errors["listed"] = problem
        if errors:
            raise ValidationError(errors)


class CohortRule(models.Model):
    """One condition of a cohort. A subject must match all of them."""

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="rules")
    attribute = models.CharField(max_length=20, choices=[(str(each), each.replace("_", " ")) for each in Attribute])
    trait = models.CharField(max_length=60, blank=True, help_text="For rules on a trait: its name, such as plan.")
    operator = models.CharField(
        max_length=10,
        choices=[(str(each), OPERATOR_LABELS[each]) for each in Operator],
        default=Operator.IN,
    )
    values = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(attribute__in=list(Attribute)), name="cohort_rule_attribute_known"),
            models.CheckConstraint(condition=Q(operator__in=list(Operator)), name="cohort_rule_operator_known"),
            # Rules on a trait name it; other rules do not.
            models.CheckConstraint(
                condition=Q(attribute="trait") & ~Q(trait="") | ~Q(attribute="trait") & Q(trait=""),
                name="cohort_rule_trait_named",
            ),
        ]

    def __str__(self) -> str:
        about = f"{self.get_attribute_display()} {self.trait}".strip()
        return f"{about} {self.get_operator_display()} {' or '.join(map(str, self.values))}"

    def clean(self) -> None:
        """Raise ValidationError for a rule that can never match, or that matches everyone by mistake."""
        errors: dict[str, str] = {}
        is_trait = self.attribute == Attribute.TRAIT
        if is_trait != bool(self.trait):
            errors["trait"] = "Name the trait." if is_trait else "Leave this empty: the rule is not about a trait."
        if problem := _find_list_problem(self.values, MAX_VALUES):
            errors["values"] = problem
        elif not self.values:
            errors["values"] = "Enter at least one value."
        elif self.operator in (Operator.AT_LEAST, Operator.AT_MOST) and not _is_number(self.values):
            errors["values"] = "Enter one number."
        if errors:
            raise ValidationError(errors)


class Assignment(models.Model):
    """The first exposure of a subject to a variant of a flag. A log only: it does not affect evaluation."""

    flag = models.CharField(max_length=60)
    variant = models.CharField(max_length=64)
    cohort = models.CharField(max_length=40, blank=True, help_text="Empty if the default was served.")
    subject = models.CharField(max_length=200)
    time = models.DateTimeField(help_text="Time of the first exposure.")

    class Meta:
        verbose_name = "exposure"
        ordering = ["-time", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["flag", "subject", "variant", "cohort"], name="assignment_once"),
        ]
        indexes = [
            models.Index(fields=["cohort", "-time"], name="assignment_by_cohort"),
            models.Index(fields=["subject"], name="assignment_by_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.subject}: {self.flag} {self.variant}"


class Subject(models.Model):
    """A subject's evaluation context as last seen. Used to preview the impact of rollout changes."""

    subject = models.CharField(max_length=200, unique=True)
    client = models.CharField(max_length=100, blank=True)
    environment = models.CharField(max_length=200, blank=True)
    context = models.CharField(max_length=100, blank=True)
    project = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    traits = models.JSONField(default=dict, blank=True)
    seen_at = models.DateTimeField(db_index=True, help_text="Rounded down to the hour.")  # index: last week's, clean-up

    class Meta:
        verbose_name, verbose_name_plural = "user seen", "users seen"
        ordering = ["-seen_at", "subject"]

    def __str__(self) -> str:
        return self.subject


def _find_list_problem(values: object, limit: int) -> str:
    if not isinstance(values, list) or not all(
        isinstance(value, str) and value == value.strip() and 0 < len(value) <= MAX_VALUE_LENGTH for value in values
    ):
        return f"Enter texts of 1 to {MAX_VALUE_LENGTH} characters, without leading or trailing spaces."
    return f"Enter at most {limit:,}." if len(values) > limit else ""


def _is_number(values: list[str]) -> bool:
    try:
        is_finite = math.isfinite(float(values[0]))  # no number is at least NaN
    except ValueError:
        return False
    return is_finite and len(values) == 1


def check_complete(flag: Flag, cohort_ids: Sequence[int]) -> None:
    """Raise ValidationError if these are not all cohorts of the flag, each once."""
    if sorted(cohort_ids) != sorted(Cohort.objects.filter(flag=flag).values_list("pk", flat=True)):
        raise ValidationError("A cohort was added or deleted in the meantime. Reload the page and order them again.")


def set_order(flag: Flag, cohort_ids: Sequence[int]) -> None:
    """Evaluate the cohorts of a flag in this order. Raises ValidationError if these are not all of its cohorts."""
    with transaction.atomic():
        Flag.objects.select_for_update().get(pk=flag.pk)  # nobody can add a cohort until the end of the transaction
        check_complete(flag, cohort_ids)
        cohorts = Cohort.objects.filter(flag=flag)
        if list(cohorts.order_by("position").values_list("pk", flat=True)) == list(cohort_ids):
            return
        # Positions are unique at all times, so make room below the new ones first.
        last = cohorts.aggregate(last=Max("position"))["last"]
        cohorts.update(position=F("position") + last + 1)
        for position, cohort_id in enumerate(cohort_ids):
            cohorts.filter(pk=cohort_id).update(position=position)
