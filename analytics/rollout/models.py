"""Rollout as rows: flags, the cohorts that PMs edit, and who was exposed to what."""

import math
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from analytics.rollout.evaluation import WORDS, Attribute, Operator
from analytics.rollout.flags import FLAGS, FlagKey

MAX_LISTED = 1_000  # subjects of one cohort: all processes hold them in memory
MAX_VALUES = 200  # of one rule
MAX_CHARACTERS = 200  # of one of them, as of a subject

name_validator = RegexValidator(
    r"\A[a-z0-9]+(?:-[a-z0-9]+)*\Z", "Lower-case letters, digits and dashes, such as dev-team."
)


class Flag(models.Model):
    """One of the declared flags. While it is off, everyone gets its default."""

    key = models.CharField(max_length=60, primary_key=True, choices=[(str(key), FLAGS[key].title) for key in FlagKey])
    is_on = models.BooleanField(
        "on", default=True, help_text="Off, everyone gets the default, whatever the cohorts say."
    )

    class Meta:
        ordering = ["key"]

    def __str__(self) -> str:
        return FLAGS[FlagKey(self.key)].title if self.key in set(FlagKey) else self.key


class Cohort(models.Model):
    """Some users and what they get. Of the cohorts of a flag, the first that a user belongs to decides."""

    name = models.CharField(
        max_length=40, unique=True, validators=[name_validator], help_text="As events tell it, such as dev-team."
    )
    flag = models.ForeignKey(Flag, on_delete=models.PROTECT, related_name="cohorts")
    position = models.PositiveSmallIntegerField(default=0, help_text="The lowest is asked first.")
    is_on = models.BooleanField("on", default=True)
    variant = models.CharField(max_length=64, help_text="What its users get.")
    percentage = models.DecimalField(
        max_digits=5,
        decimal_places=2,
        default=0,
        validators=[MinValueValidator(0), MaxValueValidator(100)],
        help_text="Of those for whom all rules hold and whom no cohort before took. Raising it keeps who is in.",
    )
    listed = models.JSONField(
        "always in", default=list, blank=True, help_text="Subjects that belong to it whatever rules and percentage say."
    )
    note = models.CharField(max_length=300, blank=True, help_text="What is tried here, and who asked for it.")
    salt = models.CharField(max_length=40, editable=False)

    class Meta:
        ordering = ["flag", "position", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(percentage__gte=0, percentage__lte=100), name="cohort_percentage_in_range"
            ),
            models.CheckConstraint(condition=~Q(variant="") & ~Q(salt=""), name="cohort_serves_something"),
        ]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        # Kept when it is renamed: who is in must not change by that.
        self.salt = self.salt or self.name
        super().save(*args, **kwargs)

    def clean(self) -> None:
        """Refuse a variant that the flag has not, and lists that are none of subjects."""
        wrong: dict[str, str] = {}
        if self.flag_id in set(FlagKey) and not FLAGS[FlagKey(self.flag_id)].takes(self.variant):
            known = ", ".join(FLAGS[FlagKey(self.flag_id)].variants)
            more = ", or the version of a release (64 characters)" if self.flag_id == FlagKey.RELEASE else ""
            wrong["variant"] = f"{self.flag} can be {known}{more}."
        if problem := _list_problem(self.listed, MAX_LISTED):
            wrong["listed"] = problem
        if wrong:
            raise ValidationError(wrong)


class CohortRule(models.Model):
    """One condition of a cohort. All of them have to hold."""

    cohort = models.ForeignKey(Cohort, on_delete=models.CASCADE, related_name="rules")
    attribute = models.CharField(max_length=20, choices=[(str(each), each.replace("_", " ")) for each in Attribute])
    trait = models.CharField(max_length=60, blank=True, help_text="Where it is about a trait: which, such as plan.")
    operator = models.CharField(
        max_length=10,
        choices=[(str(each), WORDS[each]) for each in Operator],
        default=Operator.IN,
    )
    values = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=Q(attribute__in=list(Attribute)), name="cohort_rule_attribute_known"),
            models.CheckConstraint(condition=Q(operator__in=list(Operator)), name="cohort_rule_operator_known"),
            # A trait has a name, and nothing else has one.
            models.CheckConstraint(
                condition=Q(attribute="trait") & ~Q(trait="") | ~Q(attribute="trait") & Q(trait=""),
                name="cohort_rule_trait_named",
            ),
        ]

    def __str__(self) -> str:
        about = f"{self.get_attribute_display()} {self.trait}".strip()
        return f"{about} {self.get_operator_display()} {' or '.join(map(str, self.values))}"

    def clean(self) -> None:
        """Refuse a rule that could never hold, or that would hold for everyone by a slip."""
        wrong: dict[str, str] = {}
        is_trait = self.attribute == Attribute.TRAIT
        if is_trait != bool(self.trait):
            wrong["trait"] = "Name the trait." if is_trait else "Leave it empty: the rule is not about a trait."
        if problem := _list_problem(self.values, MAX_VALUES):
            wrong["values"] = problem
        elif not self.values:
            wrong["values"] = "Give at least one value."
        elif self.operator in (Operator.AT_LEAST, Operator.AT_MOST) and not _is_number(self.values):
            wrong["values"] = "Give one number."
        if wrong:
            raise ValidationError(wrong)


class Assignment(models.Model):
    """That a subject was exposed to a variant, when it first was. A log: nothing is decided by it."""

    flag = models.CharField(max_length=60)
    variant = models.CharField(max_length=64)
    cohort = models.CharField(max_length=40, blank=True, help_text="Empty where the default was served.")
    subject = models.CharField(max_length=200)
    time = models.DateTimeField(help_text="Of the first exposure.")

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
    """An end user as last seen: what flags are evaluated by. Before a change it tells whom that would move."""

    subject = models.CharField(max_length=200, unique=True)
    client = models.CharField(max_length=100, blank=True)
    environment = models.CharField(max_length=200, blank=True)
    context = models.CharField(max_length=100, blank=True)
    project = models.CharField(max_length=100, blank=True)
    model = models.CharField(max_length=200, blank=True)
    traits = models.JSONField(default=dict, blank=True)
    seen_at = models.DateTimeField(db_index=True, help_text="To the hour.")  # serves last week's, and the clean-up

    class Meta:
        verbose_name, verbose_name_plural = "user seen", "users seen"
        ordering = ["-seen_at", "subject"]

    def __str__(self) -> str:
        return self.subject


def _list_problem(values: object, most: int) -> str:
    if not isinstance(values, list) or not all(
        isinstance(value, str) and value == value.strip() and 0 < len(value) <= MAX_CHARACTERS for value in values
    ):
        return f"Give texts of 1 to {MAX_CHARACTERS} characters, without spaces around them."
    return f"Give at most {most:,}." if len(values) > most else ""


def _is_number(values: list[str]) -> bool:
    try:
        is_finite = math.isfinite(float(values[0]))  # nothing is at least nan
    except ValueError:
        return False
    return is_finite and len(values) == 1
